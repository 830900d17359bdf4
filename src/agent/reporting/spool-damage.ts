// A file of the spool that is corrupt: found out, moved aside, and read as far as it can be.
import { existsSync, renameSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { COLUMNS, rowOf } from "./spool-row.ts";
import type { StoredRow } from "./spool-row.ts";

// https://www.sqlite.org/rescode.html
const [SQLITE_ERROR, SQLITE_BUSY] = [1, 5];
const [SQLITE_CORRUPT, SQLITE_NOTADB] = [11, 26];
/** An extended code: the file is shorter than it says. */
const SQLITE_IOERR_SHORT_READ = 522;

class CorruptFileError extends Error {
  readonly errcode = SQLITE_CORRUPT;
}

const extendedCodeOf = (cause: unknown): number =>
  cause instanceof Error && "errcode" in cause ? Number(cause.errcode) : 0;

const codeOf = (cause: unknown): number => extendedCodeOf(cause) & 0xff;

export const isCorrupt = (cause: unknown): boolean =>
  [SQLITE_CORRUPT, SQLITE_NOTADB].includes(codeOf(cause)) ||
  extendedCodeOf(cause) === SQLITE_IOERR_SHORT_READ;

/**
 * Why a file could not be opened: our statements fit our file, and nobody else but an agent has it.
 */
export function openingFault(cause: unknown): unknown {
  if (codeOf(cause) === SQLITE_ERROR) return new CorruptFileError("it is not a spool", { cause });
  if (codeOf(cause) !== SQLITE_BUSY) return cause;
  return new Error("another agent has it: give each a folder of its own with SONDE_DATA_DIR", {
    cause,
  });
}

/** Throws an error that is `isCorrupt`. What the rows hold is not looked at. */
export function checkStructure(database: DatabaseSync): void {
  const found = database.prepare("pragma integrity_check(1)").get();
  const says = String(found?.["integrity_check"]);
  if (says !== "ok") throw new CorruptFileError(says);
}

/**
 * Gives the file another name, which it returns. The one before is kept as well, those before it
 * are not.
 */
export function moveAside(path: string): string {
  const [aside, before] = [`${path}.corrupt-1`, `${path}.corrupt-2`];
  rename(aside, before);
  rename(path, aside);
  return aside;
}

function rename(from: string, to: string): void {
  // The log goes first: left behind, it would be taken for that of the next file.
  for (const log of ["-wal", ""]) {
    rmSync(`${to}${log}`, { force: true });
    if (existsSync(`${from}${log}`)) renameSync(`${from}${log}`, `${to}${log}`);
  }
}

/** What can be read of a corrupt file, coming from its one end and from its other. */
export function salvage(path: string, maxBytes: number): StoredRow[] {
  const rows = new Map<number, StoredRow>();
  let bytes = 0;
  const database = new DatabaseSync(path);
  try {
    database.exec("pragma locking_mode = exclusive"); // or it would leave a file more
    for (const order of ["asc", "desc"] as const)
      for (const stored of readable(database, order)) {
        bytes += stored.report.length;
        if (rows.has(stored.seq) || bytes > maxBytes) break;
        rows.set(stored.seq, stored);
      }
  } finally {
    database.close();
  }
  return [...rows.values()];
}

/** Ends where the damage begins. */
function* readable(database: DatabaseSync, order: "asc" | "desc"): Generator<StoredRow> {
  try {
    const statement = database.prepare(`select ${COLUMNS} from reports order by seq ${order}`);
    for (const row of statement.iterate()) yield rowOf(row);
  } catch (cause) {
    if (!isCorrupt(openingFault(cause))) throw cause;
  }
}
