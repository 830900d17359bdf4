// `sonde backup`: copies the embedded database while the service runs.
import { resolve } from "node:path";
import { existingSealerOf, MASTER_KEY_FILE, masterKeyOf } from "../compose/store.ts";
import type { Config } from "../config/config.ts";
import { invalid } from "../model/errors.ts";
import { shellWord } from "../model/shell-word.ts";
import { systemClock } from "../runtime/clock.ts";
import { replaceFile } from "../runtime/data-dir.ts";
import { backUp } from "../store/backup/backup.ts";
import type { Contents } from "../store/backup/backup.ts";
import { securedUrl, SYSTEM } from "../store/postgres/postgres-tls.ts";
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
    throw usePgDump(input.file, {
      url: new URL(config.databaseUrl),
      ca: config.databaseCa,
      caFile: context.environment["SONDE_DATABASE_CA_FILE"],
    });
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

interface Server {
  readonly url: URL;
  readonly ca: string | undefined;
  /** Where `ca` was read from, unless it was given as text. */
  readonly caFile: string | undefined;
}

/** The parameters, except those of TLS, that libpq knows too: it refuses a URL with others. */
const SHARED = [
  "host",
  "port",
  "user",
  "options",
  "application_name",
  "client_encoding",
  "connect_timeout",
  "target_session_attrs",
  "channel_binding",
  "gssencmode",
];

/** Where the message has the operator write a `SONDE_DATABASE_CA` that was given as text. */
const CA_FILE = "ca.crt";

function usePgDump(to: string, server: Server): Error {
  const { url, ca, caFile } = server;
  const named = new URL(url);
  named.password = "";
  named.search = [...url.searchParams]
    .filter(([name]) => SHARED.includes(name))
    .concat(Object.entries(libpqTls(server)))
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join("&");
  const first = ca && !caFile ? `write SONDE_DATABASE_CA to a file ${CA_FILE}, and ` : "";
  return invalid(
    `the database is PostgreSQL: ${first}back it up with \`pg_dump --format=custom --file=${shellWord(to)} ${shellWord(named.href)}\`; see docs/backup.md`,
  );
}

/** Makes libpq verify what Sonde verifies: its own `require` verifies nothing. */
function libpqTls({ url, ca, caFile }: Server): Readonly<Record<string, string>> {
  const [mode, root, cert, key] = ["sslmode", "sslrootcert", "sslcert", "sslkey"].map((name) =>
    url.searchParams.get(name),
  );
  const { ssl } = securedUrl(url.href, ca);
  if (!ssl) return mode === "disable" ? { sslmode: mode } : {};
  const given = caFile || root;
  const authority = ca && !caFile ? CA_FILE : given && resolve(given);
  return {
    sslmode: ssl.rejectUnauthorized ? "verify-full" : "require",
    ...(ssl.rejectUnauthorized && { sslrootcert: (ssl.ca && authority) || SYSTEM }),
    ...(cert && { sslcert: resolve(cert) }),
    ...(key && { sslkey: resolve(key) }),
  };
}
