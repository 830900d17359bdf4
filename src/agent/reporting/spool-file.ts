// The spool's SQLite file: accessible only to its user, and locked by one process.
import { closeSync, existsSync, openSync, renameSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { SQLOutputValue } from "node:sqlite";

export interface Row {
  readonly run_id: string;
  readonly report: Uint8Array;
}

export interface NewRow extends Row {
  readonly location_id: string;
  /** Epoch milliseconds. */
  readonly due_time: number;
}

/** Few enough: encoding a batch for the bus delays no measurement. */
const BATCH_REPORTS = 100;
const BATCH_BYTES = 512 * 1024;

/** The version of the columns and of the reports in them. */
const VERSION = 2;
const FROM_VERSION_1 =
  "begin; alter table reports drop column checksum; pragma user_version = 2; commit";

// WAL with NORMAL: a killed process loses no commit, a power failure at most the latest.
const SCHEMA = `
  pragma auto_vacuum = full;
  pragma journal_mode = wal;
  pragma synchronous = normal;
  create table if not exists reports (
    seq integer primary key,
    run_id text not null unique,
    location_id text not null,
    due_time integer not null,
    report blob not null
  ) strict;
  create index if not exists reports_by_due_time on reports (due_time, run_id);
`;

export type SpoolFile = ReturnType<typeof openSpoolFile>;

/** Throws if the file cannot be opened. A method that throws SQLite's error changes nothing. */
export function openSpoolFile(path: string, locationId: string) {
  const { database, sql, sizes } = openDatabase(path);
  let held = { own: 0, bytes: 0 };
  const count = ({ location_id, reports, bytes }: Size, sign: 1 | -1): void => {
    const own = location_id === locationId ? sign * reports : 0;
    held = { own: held.own + own, bytes: held.bytes + sign * bytes };
  };
  for (const size of sizes) count(size, 1);

  const deleted = (rows: readonly Values[]): number => {
    for (const row of rows) count(sizeOf(row), -1);
    return rows.length;
  };
  const deleteBeyond = (maxBytes: number): number => {
    let rows = 0;
    while (held.bytes > maxBytes) {
      const some = deleted(sql.deletionOfOldest.all());
      if (some === 0) break;
      rows += some;
    }
    return rows;
  };
  const change = (work: () => number): number => {
    const before = held;
    try {
      return inTransaction(database, work);
    } catch (cause) {
      held = before;
      throw cause;
    }
  };

  return {
    /** Adds rows, then deletes the oldest, of any location, beyond the bound; returns how many. */
    insert: (rows: readonly NewRow[], maxBytes: number): number =>
      change(() => {
        for (const { run_id, location_id, due_time, report } of rows)
          if (sql.insertion.run(run_id, location_id, due_time, report).changes > 0)
            count({ location_id, reports: 1, bytes: report.length }, 1);
        return deleteBeyond(maxBytes);
      }),
    /** Returns one batch, earliest due first. */
    oldest: (exceptRunIds: readonly string[]): Row[] =>
      firstBatch(sql.byDueTime.iterate(locationId, JSON.stringify(exceptRunIds))),
    find(runId: string): Row | undefined {
      const row = sql.ofRun.get(runId);
      return row && rowOf(row);
    },
    remove: (runIds: readonly string[]): number =>
      change(() => deleted(sql.deletion.all(JSON.stringify(runIds)))),
    count: () => held.own,
    bytes: () => held.bytes,
    others: sizes.filter(({ location_id }) => location_id !== locationId),
    close: () => database.close(),
  };
}

function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec("begin immediate");
  try {
    const result = work();
    database.exec("commit");
    return result;
  } finally {
    if (database.isTransaction) database.exec("rollback");
  }
}

/** At least one row, however large. */
function firstBatch(values: Iterable<Values>): Row[] {
  const rows: Row[] = [];
  let bytes = 0;
  for (const each of values) {
    const row = rowOf(each);
    bytes += row.report.length;
    if (rows.length > 0 && bytes > BATCH_BYTES) break;
    rows.push(row);
  }
  return rows;
}

function openDatabase(path: string) {
  closeSync(openSync(path, "a", 0o600));
  const database = new DatabaseSync(path);
  try {
    // Keeps other processes out, and the WAL's index in memory.
    database.exec("pragma locking_mode = exclusive");
    const version = Number(pragma(database, "user_version"));
    if (![0, 1, VERSION].includes(version))
      throw new UnusableFileError(`version ${version} instead of ${VERSION}`);
    database.exec(SCHEMA);
    const damage = pragma(database, "integrity_check(1)");
    if (damage !== "ok") throw new UnusableFileError(String(damage));
    if (version === 1) database.exec(FROM_VERSION_1);
    // Writes only if needed: reports stay readable on a full disk.
    else if (version === 0) database.exec(`pragma user_version = ${VERSION}`);
    const sql = prepareStatements(database);
    return { database, sql, sizes: sql.sizes.all().map(sizeOf) };
  } catch (cause) {
    database.close();
    throw openingError(cause);
  }
}

const pragma = (database: DatabaseSync, name: string): SQLOutputValue | undefined =>
  Object.values(database.prepare(`pragma ${name}`).get() ?? {})[0];

const SIZE = "location_id, length(report) as bytes";

/** Lists of runs are passed as JSON. */
const prepareStatements = (database: DatabaseSync) => ({
  insertion: database.prepare(
    "insert or ignore into reports (run_id, location_id, due_time, report) values (?, ?, ?, ?)",
  ),
  byDueTime: database.prepare(
    `select run_id, report from reports
      where location_id = ? and run_id not in (select value from json_each(?))
      order by due_time, run_id limit ${BATCH_REPORTS}`,
  ),
  ofRun: database.prepare("select run_id, report from reports where run_id = ?"),
  deletion: database.prepare(
    `delete from reports where run_id in (select value from json_each(?)) returning ${SIZE}`,
  ),
  deletionOfOldest: database.prepare(
    `delete from reports where seq = (select seq from reports order by due_time, run_id limit 1)
      returning ${SIZE}`,
  ),
  sizes: database.prepare(
    `select location_id, count(*) as reports, sum(length(report)) as bytes
      from reports group by location_id`,
  ),
});

type Values = Readonly<Record<string, SQLOutputValue>>;

const rowOf = (row: Values): Row => ({
  run_id: String(row["run_id"]),
  report: row["report"] instanceof Uint8Array ? row["report"] : new Uint8Array(),
});

interface Size {
  readonly location_id: string;
  readonly reports: number;
  readonly bytes: number;
}

const sizeOf = (row: Values): Size => ({
  location_id: String(row["location_id"]),
  reports: Number(row["reports"] ?? 1),
  bytes: Number(row["bytes"]),
});

// https://www.sqlite.org/rescode.html
const [SQLITE_ERROR, SQLITE_BUSY, SQLITE_CORRUPT, SQLITE_NOTADB] = [1, 5, 11, 26];
/** An extended code: the file is shorter than its header says. */
const SQLITE_IOERR_SHORT_READ = 522;

class UnusableFileError extends Error {}

const codeOf = (cause: unknown): number =>
  cause instanceof Error && "errcode" in cause ? Number(cause.errcode) : 0;

/** Whether another process has locked the file. */
export const isBusy = (cause: unknown): boolean => (codeOf(cause) & 0xff) === SQLITE_BUSY;

/** Whether the file itself is at fault: damaged, foreign, or of another version. */
export const isUnusable = (cause: unknown): boolean =>
  cause instanceof UnusableFileError ||
  [SQLITE_CORRUPT, SQLITE_NOTADB].includes(codeOf(cause) & 0xff) ||
  codeOf(cause) === SQLITE_IOERR_SHORT_READ;

function openingError(cause: unknown): unknown {
  // Our statements match our tables, so these are not ours.
  if (codeOf(cause) === SQLITE_ERROR) return new UnusableFileError("not a spool", { cause });
  if (!isBusy(cause)) return cause;
  return new Error("another agent uses it: give each its own folder with SONDE_DATA_DIR", {
    cause,
  });
}

/**
 * Renames the file and returns its new name. Keeps the file set aside before it, but no older one.
 */
export function setAside(path: string): string {
  const [aside, before] = [`${path}.aside-1`, `${path}.aside-2`];
  rename(aside, before);
  rename(path, aside);
  return aside;
}

function rename(from: string, to: string): void {
  // The WAL goes first: if it stayed behind, SQLite would apply it to the next file.
  for (const log of ["-wal", ""]) {
    rmSync(`${to}${log}`, { force: true });
    if (existsSync(`${from}${log}`)) renameSync(`${from}${log}`, `${to}${log}`);
  }
}
