// `sonde restore`: replaces the embedded database with a backup.
import { basename, dirname, resolve } from "node:path";
import { existingSealerOf, MASTER_KEY_FILE, sealerOf } from "../compose/store.ts";
import type { Config } from "../config/config.ts";
import { invalid } from "../model/errors.ts";
import { formatInstant, formatPeriodTime } from "../model/instant.ts";
import { SCHEDULER_LEASE } from "../model/slots.ts";
import { systemClock } from "../runtime/clock.ts";
import { existingDataDir } from "../runtime/data-dir.ts";
import type { DataDir } from "../runtime/data-dir.ts";
import type { Sealer } from "../runtime/sealer.ts";
import { restore } from "../store/backup/restore.ts";
import type { Restored } from "../store/backup/restore.ts";
import type { Snapshot } from "../store/backup/snapshot.ts";
import { KEY_SUFFIX } from "./backup.ts";
import type { Context } from "./command.ts";
import { databaseFileIn, inWords, lockOut, showCopying } from "./database-file.ts";

export interface RestoreInput {
  readonly file: string;
  readonly force?: true;
}

/** Rejects with one line for the operator, leaving the database as it was. */
export async function restoreStore(context: Context, input: RestoreInput): Promise<void> {
  const { print } = context;
  const config = context.config();
  if (input.file === "") throw invalid("restore: '' is not the name of a file");
  if (config.databaseUrl !== undefined)
    throw invalid(
      "the database is PostgreSQL: restore a dump with pg_restore, see docs/backup.md; or unset SONDE_DATABASE_URL",
    );
  const from = resolve(input.file);
  const file = databaseFileIn(config);
  using _ = lockOut(file);
  using showing = showCopying("restoring");
  const found: Found = {};
  const restored = await restore({
    from,
    database: file.path,
    asideAs: input.force ? `${file.path}.before-restore-${timeInNames()}` : undefined,
    sealerFor(snapshot) {
      found.opened = snapshot.cursorOf(SCHEDULER_LEASE);
      const given = { from, snapshot, replaces: input.force ?? false };
      found.key = masterKeyFor(config, file.dataDir, given);
      return found.key?.sealer;
    },
    clock: systemClock,
    onCopied: showing.onCopied,
    onChecking: showing.onChecking,
    onReady() {
      // Written before the database: a start without the key would generate another one.
      if (found.key) found.formerKey = writeKey(found.key, file.dataDir);
    },
  }).catch((cause: unknown) => {
    if (found.formerKey !== undefined) file.dataDir.write(MASTER_KEY_FILE, found.formerKey);
    throw cause;
  });
  print(`${file.path}: ${inWords(restored)}\n`);
  print(aboutRestored(restored, found.opened));
  const { aside } = found.key ?? {};
  if (aside === undefined) return;
  const path = file.dataDir.path(aside);
  print(`The previous master key is now ${path}: the previous database needs it.\n`);
}

/** What a restore learns on its way. */
interface Found {
  opened?: number | undefined;
  key?: MasterKey | undefined;
  /** What the file of the master key held before it was replaced. */
  formerKey?: string | undefined;
}

interface MasterKey {
  readonly sealer: Sealer;
  /** Set if the key is to be written into the data folder. */
  readonly text?: string;
  /** The new name of the key's file there. */
  readonly aside?: string | undefined;
}

interface Backup {
  readonly from: string;
  readonly snapshot: Snapshot;
  /** Whether its key may replace that of the data folder. */
  readonly replaces: boolean;
}

/**
 * Returns the master key of these settings, of the data folder, or beside the backup. Undefined if
 * none is needed; throws if one is needed and there is none.
 */
function masterKeyFor(
  config: Config,
  dataDir: DataDir,
  { from, snapshot, replaces }: Backup,
): MasterKey | undefined {
  const ids = snapshot.masterKeys().map(({ key_id }) => key_id);
  const opens = ({ keyIds }: Sealer): boolean => ids.every((id) => keyIds.includes(id));
  const existing = existingSealerOf(config, dataDir);
  if (existing && opens(existing)) return { sealer: existing };
  const beside = keyBeside(from, config);
  const sealed = `${from} is sealed with the master key ${ids.join(" and ")}`;
  if (!existing) {
    if (beside || ids.length === 0) return beside;
    throw new Error(
      `${sealed}: set SONDE_MASTER_KEY to it, or put the file ${MASTER_KEY_FILE} of the former data folder into ${config.dataDir}`,
    );
  }
  if (!beside || !opens(beside.sealer)) return { sealer: existing };
  if (config.masterKey || !replaces) {
    const use = config.masterKey
      ? "set SONDE_MASTER_KEY to it"
      : `--force puts it in the place of ${dataDir.path(MASTER_KEY_FILE)}, which gets another name`;
    throw new Error(
      `${sealed}, which is in ${from}${KEY_SUFFIX}: ${use}; or add it to SONDE_MASTER_KEYS_OLD if the master key was rotated since`,
    );
  }
  return { ...beside, aside: `${MASTER_KEY_FILE}.${existing.keyId}` };
}

/** Throws if the file holds no key. */
function keyBeside(from: string, config: Config): MasterKey | undefined {
  const key = existingDataDir(dirname(from)).existingKey(`${basename(from)}${KEY_SUFFIX}`);
  return key && { sealer: sealerOf(config, key), text: Buffer.from(key).toString("base64") };
}

/** Returns what it has set aside. */
function writeKey({ text, aside }: MasterKey, dataDir: DataDir): string | undefined {
  if (text === undefined) return undefined;
  const former = aside === undefined ? undefined : dataDir.read(MASTER_KEY_FILE);
  if (aside !== undefined) dataDir.write(aside, former ?? "");
  dataDir.write(MASTER_KEY_FILE, text);
  return former;
}

function aboutRestored({ schema, migrations, aside }: Restored, opened?: number): string {
  const newest = migrations.at(-1);
  return [
    newest === undefined ? `schema ${schema}` : `schema ${schema}, migrated to ${newest}`,
    ...(aside === undefined
      ? []
      : [`The previous database is now ${aside}: remove it when you no longer need it.`]),
    ...(opened === undefined
      ? []
      : [
          `Runs due after ${formatPeriodTime(opened)} are not in it: the service records them as MISSED when it starts.`,
        ]),
    "Keys, tokens and locations are as they were then: docs/backup.md says what to redo.",
    "",
  ].join("\n");
}

/** Such as 2026-11-22T02-00-00. */
const timeInNames = (): string =>
  formatInstant(systemClock.now()).slice(0, 19).replaceAll(":", "-");
