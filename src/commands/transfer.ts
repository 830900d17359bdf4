// `sonde transfer`: moves everything from the embedded database to PostgreSQL.
import { tableOf } from "../client/table.ts";
import type { Column } from "../client/table.ts";
import { MASTER_KEY_FILE } from "../compose/store.ts";
import type { Config } from "../config/config.ts";
import { SETTINGS } from "../config/settings.ts";
import { invalid } from "../model/errors.ts";
import { systemClock } from "../runtime/clock.ts";
import { transfer } from "../store/transfer/transfer.ts";
import type { Transferred } from "../store/transfer/transfer.ts";
import { say } from "./command.ts";
import type { Context } from "./command.ts";
import { existingDatabaseIn, lockOut, nothingWritten } from "./database-file.ts";
import type { DatabaseFile } from "./database-file.ts";
import { screenOf } from "./output.ts";
import { createProgress } from "./progress.ts";
import type { Progress } from "./progress.ts";
import { abortOnStop } from "./stop-signal.ts";

export interface TransferInput {
  readonly to?: string;
}

/** Rejects with one line for the operator, leaving PostgreSQL as empty as it was. */
export async function transferStore(context: Context, { to }: TransferInput): Promise<void> {
  const { print } = context;
  const config = context.config();
  const target = targetOf(config, to);
  const file = existingDatabaseIn(config);
  using _ = lockOut(file);
  using stopping = abortOnStop(nothingWritten);
  const started = systemClock.monotonic();
  let progress: Progress | undefined;
  let schema: string | undefined;
  const transferred = await transfer({
    file: file.path,
    server: { url: target.url, ca: config.databaseCa },
    setting: target.setting,
    clock: systemClock,
    onMigrated(newest) {
      schema = newest;
    },
    onStart(total) {
      progress = createProgress({ label: "transferring", total, unit: "rows" });
    },
    onRows(rows) {
      stopping.signal.throwIfAborted();
      progress?.advance(rows);
    },
    onChecking() {
      progress?.end();
      say("comparing both databases");
    },
  });
  print(tableOf(COLUMNS, Object.entries(transferred), screenOf()));
  const seconds = (systemClock.monotonic() - started) / 1000;
  print(aboutTransferred({ rows: sumOf(transferred), seconds, config, file, schema }));
}

/** Takes --to or SONDE_DATABASE_URL, which may be in a file: others can read a command line. */
function targetOf(config: Config, to: string | undefined) {
  const { env, allowed, parse } = SETTINGS.databaseUrl;
  if (to === undefined && config.databaseUrl !== undefined)
    return { url: config.databaseUrl, setting: env };
  if (to === undefined)
    throw invalid(`transfer needs --to or ${env}: a postgres:// URL of an empty database`);
  const url = parse(to);
  if (url === undefined) throw invalid(`--to is not ${allowed}`);
  return { url, setting: "--to" };
}

const sumOf = (transferred: Transferred): number =>
  Object.values(transferred).reduce((sum, rows) => sum + rows, 0);

const COLUMNS: readonly Column<readonly [table: string, rows: number]>[] = [
  { heading: "TABLE", cell: ([table]) => table },
  { heading: "ROWS", cell: ([, rows]) => rows, align: "right" },
];

interface Done {
  readonly rows: number;
  readonly seconds: number;
  readonly config: Config;
  readonly file: DatabaseFile;
  /** Of the file, if the transfer changed it. */
  readonly schema: string | undefined;
}

function aboutTransferred({ rows, seconds, config, file, schema }: Done): string {
  const state =
    schema === undefined ? "is unchanged" : `has the same data, and now the schema ${schema}`;
  const key = config.masterKey
    ? "the same SONDE_MASTER_KEY"
    : `the master key in ${file.dataDir.path(MASTER_KEY_FILE)} (SONDE_MASTER_KEY_FILE)`;
  return [
    `${rows} rows in ${seconds.toFixed(1)} s, compared in both databases`,
    `Start the service with SONDE_DATABASE_URL and ${key}.`,
    `${file.path} ${state}: do not start the service on it again, and back up PostgreSQL instead.`,
    "",
  ].join("\n");
}
