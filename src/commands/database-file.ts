// Shared by the commands on the whole embedded database: finding it, locking out the service, and
// showing progress.
import type { Config } from "../config/config.ts";
import { databaseFileOf } from "../compose/store.ts";
import { count } from "../model/count.ts";
import { existingDataDir, isMissing, openDataDir } from "../runtime/data-dir.ts";
import type { DataDir } from "../runtime/data-dir.ts";
import type { Contents } from "../store/backup/backup.ts";
import { lockForProcess } from "../store/sqlite/process-lock.ts";
import type { OnCopied } from "../store/backup/snapshot.ts";
import { say } from "./command.ts";
import { createProgress } from "./progress.ts";
import type { Progress } from "./progress.ts";
import { abortOnStop } from "./stop-signal.ts";

export interface DatabaseFile {
  readonly dataDir: DataDir;
  readonly path: string;
}

/** Returns the database file of the data folder, whether or not it exists. */
export function databaseFileIn(config: Config): DatabaseFile {
  const dataDir = openDataDir(config.dataDir);
  return { dataDir, path: databaseFileOf(dataDir) };
}

/** Throws with one line for the operator if the data folder has no database. */
export function existingDatabaseIn(config: Config): DatabaseFile {
  if (!isMissing(databaseFileOf(existingDataDir(config.dataDir)))) return databaseFileIn(config);
  throw new Error(
    `the data folder ${config.dataDir} has no database: set SONDE_DATA_DIR to the folder of the service`,
  );
}

/** Keeps `sonde serve` from starting until the result is disposed. Throws if it is running. */
export function lockOut({ dataDir }: DatabaseFile): Disposable {
  const unlock = lockForProcess(dataDir.path("serve.lock"), "stop it first");
  return { [Symbol.dispose]: unlock };
}

const MEGABYTE = 1_000_000;
const megabytes = (bytes: number): number => Math.ceil(bytes / MEGABYTE);

export const sizeOf = (bytes: number): string => `${(bytes / MEGABYTE).toFixed(1)} MB`;

/** Shows the progress of a copy, and aborts it on a signal until disposed. */
export function showCopying(
  label: string,
): Disposable & { readonly onCopied: OnCopied; readonly onChecking: () => void } {
  const stopping = abortOnStop(nothingWritten);
  let [progress, shown]: [Progress | undefined, number] = [undefined, 0];
  return {
    onCopied(copied, total) {
      stopping.signal.throwIfAborted();
      progress ??= createProgress({ label, total: megabytes(total), unit: "MB" });
      progress.advance(megabytes(copied) - shown);
      shown = megabytes(copied);
    },
    onChecking() {
      progress?.end();
      say("checking the copy");
    },
    [Symbol.dispose]: () => stopping[Symbol.dispose](),
  };
}

export const nothingWritten = (signal: NodeJS.Signals): string =>
  `ended by ${signal}; nothing was written`;

/** Such as `200000 results, 12 calls, 3 workflows`. */
export const inWords = ({ rows, documents }: Pick<Contents, "rows" | "documents">): string =>
  [count(rows["results"] ?? 0, "result")]
    .concat(Object.entries(documents).map(([kind, n]) => count(n, kind.replaceAll("_", " "))))
    .join(", ");
