// The SQLite file of the spool: for this user alone, and held by one process.
import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { checkStructure, openingFault } from "./spool-damage.ts";
import { rowOf } from "./spool-row.ts";
import type { SpoolRow, StoredRow, Values } from "./spool-row.ts";
import { prepareStatements, SETTINGS } from "./spool-statements.ts";

/**
 * Each method throws SQLite's error when the file cannot be used, which then holds what it held
 * before.
 */
export interface SpoolFile {
  /**
   * Passes over runs that are there, and deletes the oldest rows, of whichever location, that are
   * beyond so many bytes; all in one transaction. Returns how many it deleted.
   */
  insert(rows: readonly SpoolRow[], maxBytes: number): number;
  /** By due time, up to so many rows and bytes, but one at least; without those of some runs. */
  oldest(most: number, maxBytes: number, exceptRunIds: readonly string[]): StoredRow[];
  find(runId: string): StoredRow | undefined;
  /**
   * Rows of these runs, also where only their places, as they were once read, find them. Returns
   * how many there were.
   */
  deleteOf(runIds: readonly string[], seqs: readonly number[]): number;
  /** Rows at places that were read in the same use of the file. Returns how many there were. */
  deleteAt(seqs: readonly number[]): number;
  count(): number;
  /** What is there of other locations. */
  others(): { readonly location_id: string; readonly reports: number }[];
  close(): void;
}

/**
 * Of the columns, and of what a report is; another version's file is not ours to read or to write.
 */
export const SPOOL_VERSION = 1;

export class OtherVersionError extends Error {}

/**
 * Throws when it cannot be used, an `OtherVersionError` among others. `oldest` and `count` see the
 * rows of this location only.
 */
export function openSpoolFile(path: string, locationId: string): SpoolFile {
  closeSync(openSync(path, "a", 0o600));
  const database = new DatabaseSync(path);
  try {
    // Until it is closed, so that no second process has it; the index of the log then needs no file
    // of its own.
    database.exec("pragma locking_mode = exclusive");
    const version = versionOf(database);
    if (version !== 0 && version !== SPOOL_VERSION)
      throw new OtherVersionError(`version ${version}`);
    database.exec(SETTINGS);
    // A full disk is no reason not to read what is there.
    if (version === 0) database.exec(`pragma user_version = ${SPOOL_VERSION}`);
    checkStructure(database);
    return createFile(database, locationId);
  } catch (cause) {
    database.close();
    throw openingFault(cause);
  }
}

/** 0 for a new file. */
function versionOf(database: DatabaseSync): number {
  const row = database.prepare("pragma user_version").get();
  return Number(row?.["user_version"]);
}

function createFile(database: DatabaseSync, locationId: string): SpoolFile {
  const sql = prepareStatements(database);

  const removeAt = (seqs: readonly number[]): Size[] =>
    sql.deletionAt.all(JSON.stringify(seqs)).map(sizeOf);
  const changed = (from: Held, by: readonly Size[], sign: 1 | -1): Held => ({
    own: from.own + sign * by.filter((row) => row.location_id === locationId).length,
    bytes: from.bytes + sign * by.reduce((sum, { bytes }) => sum + bytes, 0),
  });

  let held = changed({ own: 0, bytes: 0 }, sql.sizes.all().map(sizeOf), 1);
  const deleted = (remove: () => Size[]): number =>
    inTransaction(database, (commit) => {
      const removed = remove();
      commit();
      held = changed(held, removed, -1);
      return removed.length;
    });

  return {
    insert: (rows, maxBytes) =>
      inTransaction(database, (commit) => {
        const added = rows.filter((row) => sql.insertion.run(...valuesOf(row)).changes > 0);
        const grown = changed(held, added.map(sizeOfNew), 1);
        const beyond = grown.bytes - maxBytes;
        const removed = removeAt(beyond > 0 ? seqsOf(sql.sizesByDueTime.iterate(), beyond) : []);
        commit();
        held = changed(grown, removed, -1);
        return removed.length;
      }),
    oldest: (most, maxBytes, exceptRunIds) =>
      firstOf(sql.byDueTime.iterate(locationId, JSON.stringify(exceptRunIds)), most, maxBytes),
    find(runId) {
      const row = sql.ofRun.get(runId);
      return row && rowOf(row);
    },
    deleteOf: (runIds, seqs) =>
      deleted(() => sql.deletionOf.all(JSON.stringify(runIds), JSON.stringify(seqs)).map(sizeOf)),
    deleteAt: (seqs) => deleted(() => removeAt(seqs)),
    count: () => held.own,
    others: () =>
      sql.ofOthers.all(locationId).map((row) => ({
        location_id: String(row["location_id"]),
        reports: Number(row["reports"]),
      })),
    close: () => database.close(),
  };
}

/** So many rows and bytes at most, but one row at least. */
function firstOf(rows: Iterable<Values>, most: number, maxBytes: number): StoredRow[] {
  const first: StoredRow[] = [];
  let bytes = 0;
  for (const row of rows) {
    const stored = rowOf(row);
    bytes += stored.report.length;
    if (first.length > 0 && bytes > maxBytes) break;
    first.push(stored);
    if (first.length === most) break;
  }
  return first;
}

/** Of the first rows that have so many bytes together. */
function seqsOf(sizes: Iterable<Values>, bytes: number): number[] {
  const seqs: number[] = [];
  let left = bytes;
  for (const row of sizes) {
    seqs.push(Number(row["seq"]));
    left -= Number(row["bytes"]);
    if (left <= 0) break;
  }
  return seqs;
}

interface Held {
  /** Rows of the location. */
  readonly own: number;
  readonly bytes: number;
}

interface Size {
  readonly location_id: unknown;
  readonly bytes: number;
}

const sizeOf = (row: Values): Size => ({
  location_id: row["location_id"],
  bytes: Number(row["bytes"]),
});

const sizeOfNew = ({ location_id, report }: SpoolRow): Size => ({
  location_id,
  bytes: report.length,
});

const valuesOf = (row: SpoolRow) =>
  [row.run_id, row.location_id, row.due_time, row.checksum, row.report] as const;

function inTransaction<T>(database: DatabaseSync, work: (commit: () => void) => T): T {
  database.exec("begin immediate");
  try {
    return work(() => database.exec("commit"));
  } finally {
    if (database.isTransaction) database.exec("rollback");
  }
}
