// `sonde restore`: replaces the embedded database with a backup.
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { existingSealerOf, MASTER_KEY_FILE, sealerOf } from "../compose/store.ts";
import type { Config } from "../config/config.ts";
import { invalid } from "../model/errors.ts";
import { formatInstant, formatPeriodTime } from "../model/instant.ts";
import { SCHEDULER_LEASE } from "../model/slots.ts";
import { systemClock } from "../runtime/clock.ts";
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
  let [opened, key]: [number | undefined, MasterKey | undefined] = [undefined, undefined];
  const restored = await restore({
    from,
    database: file.path,
    asideAs: input.force ? `${file.path}.before-restore-${timeInNames()}` : undefined,
    sealerFor(snapshot) {
      opened = snapshot.cursorOf(SCHEDULER_LEASE);
      key = masterKeyFor(config, file.dataDir, { from, snapshot });
      return key?.sealer;
    },
    clock: systemClock,
    onCopied: showing.onCopied,
    onChecking: showing.onChecking,
    onReady() {
      // Written before the database: a start without the key would generate another one.
      if (key?.text !== undefined) file.dataDir.write(MASTER_KEY_FILE, key.text);
    },
  });
  print(`${file.path}: ${inWords(restored)}\n`);
  print(aboutRestored(restored, opened));
}

interface MasterKey {
  readonly sealer: Sealer;
  /** Set if the key is to be written into the data folder. */
  readonly text?: string;
}

interface Backup {
  readonly from: string;
  readonly snapshot: Snapshot;
}

/**
 * Returns the master key of these settings, of the data folder, or beside the backup. Undefined if
 * none is needed; throws if one is needed and there is none.
 */
function masterKeyFor(
  config: Config,
  dataDir: DataDir,
  { from, snapshot }: Backup,
): MasterKey | undefined {
  const sealer = existingSealerOf(config, dataDir);
  if (sealer) return { sealer };
  const beside = `${from}${KEY_SUFFIX}`;
  if (existsSync(beside)) {
    const text = readFileSync(beside, "utf8");
    const current = Buffer.from(text, "base64");
    return { sealer: sealerOf(config, current), text };
  }
  const ids = snapshot.masterKeys().map(({ key_id }) => key_id);
  if (ids.length === 0) return undefined;
  throw new Error(
    `${from} is sealed with the master key ${ids.join(" and ")}: set SONDE_MASTER_KEY to it, or put the file ${MASTER_KEY_FILE} of the former data folder into ${config.dataDir}`,
  );
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
