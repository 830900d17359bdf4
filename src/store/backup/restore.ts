// Replaces a file database with a backup, entirely or not at all.
import { constants, copyFileSync, existsSync, linkSync, renameSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../runtime/clock.ts";
import type { Sealer } from "../../runtime/sealer.ts";
import { assertOpens } from "../keys/master-keys.ts";
import { migrateStore } from "../open-store.ts";
import { checkCopy, contentsOf, unwritable } from "./backup.ts";
import type { Contents } from "./backup.ts";
import {
  BESIDE,
  isSameFile,
  partialName,
  place,
  removeDatabase,
  removeLeftovers,
} from "./placed-file.ts";
import { openSnapshot, syncFile } from "./snapshot.ts";
import type { OnCopied, Snapshot } from "./snapshot.ts";

const { COPYFILE_EXCL } = constants;

export interface RestoreOptions {
  /** The backup. */
  readonly from: string;
  /** The database to replace. No process may be serving it. */
  readonly database: string;
  /** The new name of an existing database; undefined: rejects if there is one. */
  readonly asideAs: string | undefined;
  /** Returns a sealer with the backup's master keys. Throws if it needs one and there is none. */
  readonly sealerFor: (snapshot: Snapshot) => Sealer | undefined;
  readonly clock: Clock;
  readonly onCopied: OnCopied;
  readonly onChecking: () => void;
  /** Called when the copy is ready, just before it gets its name. */
  readonly onReady: () => void;
}

export interface Restored extends Contents {
  /** The names of the migrations that the backup lacked. */
  readonly migrations: readonly string[];
  /** Where the former database is now; undefined if there was none. */
  readonly aside: string | undefined;
}

/**
 * Copies, checks and migrates the backup beside the database, and then gives the copy its name.
 * Rejects with one line for the operator, leaving the database as it was.
 */
export async function restore(options: RestoreOptions): Promise<Restored> {
  const { from, database, asideAs, sealerFor, clock, onCopied, onChecking, onReady } = options;
  using snapshot = openSnapshot(from, { isInUse: false });
  if (isSameFile(from, database)) throw new Error(`${from} is the database itself: name a backup`);
  if (existsSync(database) && asideAs === undefined) throw isTaken(database);
  if (!existsSync(database)) refuseLog(`${database}-wal`);
  const sealer = sealerFor(snapshot);
  if (sealer) await assertOpens(snapshot.masterKeys(), sealer);
  const partial = partialName(database);
  try {
    removeLeftovers(database);
    await snapshot.copyTo(partial, onCopied);
    onChecking();
    const rows = checkCopy(partial, snapshot);
    const contents = contentsOf(snapshot, partial);
    const migrations = await migrateStore({ location: { file: partial }, clock });
    syncFile(partial);
    onReady();
    const aside = existsSync(database) ? asideAs : undefined;
    if (aside !== undefined) setAside(database, aside);
    place(partial, database);
    return { ...contents, rows, migrations, aside };
  } catch (cause) {
    throw unwritable(database, cause);
  } finally {
    removeDatabase(partial);
  }
}

/** The database also keeps its name until the copy takes it: a start always finds a database. */
function setAside(database: string, aside: string): void {
  foldLog(database);
  try {
    linkSync(database, aside);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "EEXIST") throw cause;
    copyFileSync(database, aside, COPYFILE_EXCL); // a file system without links
  }
  // A damaged database still has its log, which must not end up beside the restored one.
  for (const suffix of BESIDE)
    if (existsSync(`${database}${suffix}`)) renameSync(`${database}${suffix}`, `${aside}${suffix}`);
}

/** Writes the log back to the database; the last connection to close then removes the log. */
function foldLog(path: string): void {
  try {
    using database = new DatabaseSync(path);
    database.exec("pragma wal_checkpoint(truncate)");
  } catch {
    // The database is damaged: perhaps the reason for restoring.
  }
}

/** It may hold the last changes of a database that was moved away without it. */
function refuseLog(log: string): void {
  if (!statSync(log, { throwIfNoEntry: false })?.size) return;
  throw new Error(
    `${log} is the log of a database that is no longer beside it: move it to that database, or remove it`,
  );
}

const isTaken = (database: string): Error =>
  new Error(
    `the database ${database} already exists: --force replaces it, and keeps it under another name; or set SONDE_DATA_DIR to an empty folder`,
  );
