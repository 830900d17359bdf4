// `sonde backup`: copies the embedded database while the service runs.
import { resolve } from "node:path";
import { existingSealerOf, MASTER_KEY_FILE, masterKeyOf } from "../compose/store.ts";
import type { Config } from "../config/config.ts";
import { invalid } from "../model/errors.ts";
import { systemClock } from "../runtime/clock.ts";
import { replaceFile } from "../runtime/data-dir.ts";
import { backUp } from "../store/backup/backup.ts";
import type { Contents } from "../store/backup/backup.ts";
import type { Context } from "./command.ts";
import { existingDatabaseIn, inWords, showCopying, sizeOf } from "./database-file.ts";
import type { DatabaseFile } from "./database-file.ts";

/** The suffix of the master key's file beside a backup. */
export const KEY_SUFFIX = ".master-key";

export interface BackupInput {
  readonly file: string;
  readonly force?: true;
  readonly withKey?: true;
}

/** Rejects with one line for the operator, leaving nothing behind. */
export async function backUpStore(context: Context, input: BackupInput): Promise<void> {
  const { print } = context;
  const config = context.config();
  if (input.file === "") throw invalid("backup: '' is not the name of a file");
  if (config.databaseUrl !== undefined)
    throw usePgDump(config.databaseUrl, input.file, context.environment["SONDE_DATABASE_CA_FILE"]);
  const file = existingDatabaseIn(config);
  const to = resolve(input.file);
  using showing = showCopying("backing up");
  const started = systemClock.monotonic();
  const contents = await backUp({
    database: file.path,
    to,
    replaces: input.force ?? false,
    onCopied: showing.onCopied,
    onChecking: showing.onChecking,
  });
  const seconds = ((systemClock.monotonic() - started) / 1000).toFixed(1);
  print(`${to}: ${inWords(contents)}\n`);
  print(`${sizeOf(contents.bytes)} in ${seconds} s, checked; schema ${contents.schema}\n`);
  print(await aboutKeys(config, file, { to, contents, withKey: input.withKey ?? false }));
}

interface Made {
  readonly to: string;
  readonly contents: Contents;
  readonly withKey: boolean;
}

/** Names the keys needed to restore the backup. Writes the key beside it on request. */
async function aboutKeys(
  config: Config,
  { dataDir }: DatabaseFile,
  { to, contents, withKey }: Made,
): Promise<string> {
  const ids = contents.masterKeys.map(({ key_id }) => key_id);
  if (ids.length === 0) return "It holds no secrets.\n";
  const needed = `It is sealed with the master key ${ids.join(" and ")}`;
  const sealer = existingSealerOf(config, dataDir);
  if (!ids.every((key) => sealer?.keyIds.includes(key)))
    return `${needed}, which these settings do not have: keep that key, or the backup cannot be restored.\n`;
  const old = ids.filter((key) => key !== sealer?.keyId); // while the master key is rotated
  if (withKey) {
    const path = `${to}${KEY_SUFFIX}`;
    replaceFile(path, Buffer.from(masterKeyOf(config, dataDir)).toString("base64"), 0o600);
    return old.length === 0
      ? `${needed}, which is beside it, ${path}: anyone with both files can read every secret.\n`
      : `${needed}. Beside it, ${path} has only ${sealer?.keyId}: keep SONDE_MASTER_KEYS_OLD too. Without it, the backup cannot be restored.\n`;
  }
  const current = config.masterKey ? "SONDE_MASTER_KEY" : dataDir.path(MASTER_KEY_FILE);
  const where = old.length === 0 ? current : `${current} and SONDE_MASTER_KEYS_OLD`;
  return `${needed}: keep ${where} too, in another place. Without it, the backup cannot be restored.\n`;
}

/** `authority`: the file with the certificate of the server's authority. */
function usePgDump(url: string, to: string, authority: string | undefined): Error {
  const named = new URL(url);
  named.password = "";
  named.searchParams.delete("password");
  if (authority) {
    // As for Sonde itself, it turns TLS on.
    if (!named.searchParams.has("sslmode")) named.searchParams.set("sslmode", "verify-full");
    named.searchParams.set("sslrootcert", resolve(authority));
  }
  return invalid(
    `the database is PostgreSQL: back it up with \`pg_dump --format=custom --file='${to}' '${named.href}'\`; see docs/backup.md`,
  );
}
