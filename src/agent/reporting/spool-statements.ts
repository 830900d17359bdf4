// The SQL of the spool's file.
import type { DatabaseSync } from "node:sqlite";
import { COLUMNS } from "./spool-row.ts";

// WAL with NORMAL: a killed process loses nothing that was committed, a loss of power the last
// transactions at most.
export const SETTINGS = `
  pragma auto_vacuum = full;
  pragma journal_mode = wal;
  pragma synchronous = normal;
  create table if not exists reports (
    seq integer primary key,
    run_id text not null unique,
    location_id text not null,
    due_time integer not null,
    checksum integer not null,
    report blob not null
  ) strict;
  create index if not exists reports_by_due_time on reports (due_time, run_id);
`;

const SIZE = "location_id, length(report) as bytes";

/** Lists of places and of runs are JSON. */
export const prepareStatements = (database: DatabaseSync) => ({
  insertion: database.prepare(
    `insert or ignore into reports (${COLUMNS}) values (null, ?, ?, ?, ?, ?)`,
  ),
  byDueTime: database.prepare(
    `select ${COLUMNS} from reports where location_id = ? and run_id not in (select value from json_each(?)) order by due_time, run_id`,
  ),
  ofRun: database.prepare(`select ${COLUMNS} from reports where run_id = ?`),
  ofOthers: database.prepare(
    "select location_id, count(*) as reports from reports where location_id <> ? group by location_id",
  ),
  sizesByDueTime: database.prepare(
    "select seq, length(report) as bytes from reports order by due_time, run_id",
  ),
  deletionAt: database.prepare(
    `delete from reports where seq in (select value from json_each(?)) returning ${SIZE}`,
  ),
  // A place counts only with its run, since others may have it by now. The plus keeps a damaged
  // index out of that.
  deletionOf: database.prepare(
    `delete from reports where run_id in (select value from json_each(?1))
      or (seq in (select value from json_each(?2)) and +run_id in (select value from json_each(?1)))
      returning ${SIZE}`,
  ),
  sizes: database.prepare(`select ${SIZE} from reports`),
});
