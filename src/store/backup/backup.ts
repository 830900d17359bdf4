// Backs up a file database into one file, which gets its name only once it is complete and checked.
import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { isSameFile, partialName, place, removeDatabase, removeLeftovers } from "./placed-file.ts";
import { checkCopyOf, openSnapshot } from "./snapshot.ts";
import type { OnCopied, RowCounts, Snapshot } from "./snapshot.ts";

export interface BackupOptions {
  readonly database: string;
  /** Path of the backup. */
  readonly to: string;
  /** Whether it may replace an existing file. */
  readonly replaces: boolean;
  readonly onCopied: OnCopied;
  /** Called once everything is copied, before the copy is checked. */
  readonly onChecking: () => void;
}

/** The contents of a backup. */
export interface Contents {
  readonly schema: string;
  readonly bytes: number;
  readonly rows: RowCounts;
  readonly documents: RowCounts;
  readonly masterKeys: ReturnType<Snapshot["masterKeys"]>;
}

/**
 * Backs up without blocking other users of the database. On failure, rejects with one line for the
 * operator, leaves nothing behind, and keeps an earlier backup of that name.
 */
export async function backUp(options: BackupOptions): Promise<Contents> {
  const { database, to, replaces, onCopied, onChecking } = options;
  if (isSameFile(to, database)) throw new Error(`${to} is the database itself: name another file`);
  refuseTaken(to, replaces);
  using snapshot = openSnapshot(database, { isInUse: true });
  const partial = partialName(to);
  try {
    removeLeftovers(to);
    await snapshot.copyTo(partial, onCopied);
    onChecking();
    const rows = checkCopy(partial, snapshot);
    const contents = contentsOf(snapshot, partial);
    refuseTaken(to, replaces);
    place(partial, to);
    return { ...contents, rows };
  } catch (cause) {
    throw unwritable(to, cause);
  } finally {
    removeDatabase(partial);
  }
}

/** Throws unless the copy is sound and has the snapshot's row counts. Returns these by table. */
export function checkCopy(path: string, snapshot: Snapshot): RowCounts {
  const [copied, expected] = [checkCopyOf(snapshot.file, path), snapshot.counts()];
  const differing = Object.keys(expected).find((table) => copied[table] !== expected[table]);
  if (differing === undefined) return copied;
  throw new Error(
    `the copy has ${copied[differing] ?? 0} rows of ${differing}, and the database ${expected[differing]}: nothing was written; try again`,
  );
}

export const contentsOf = (snapshot: Snapshot, path: string): Omit<Contents, "rows"> => ({
  schema: snapshot.schema,
  bytes: statSync(path).size,
  documents: snapshot.documents(),
  masterKeys: snapshot.masterKeys(),
});

function refuseTaken(path: string, replaces: boolean): void {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false)
    throw new Error(`${path} is not a file: name another one`); // such as /dev/null
  if (replaces && existsSync(path) && !isDatabase(path))
    throw new Error(`${path} is not a database, so --force does not replace it: name another file`);
  const taken = [path, `${path}-wal`].find((name) => existsSync(name));
  if (replaces || taken === undefined) return;
  throw new Error(`${taken} exists: name another file, or replace it with --force`);
}

/** https://sqlite.org/fileformat.html, section 1.3; an empty file is a database without tables. */
const HEADER = "SQLite format 3\0";

function isDatabase(path: string): boolean {
  const start = Buffer.alloc(HEADER.length);
  const file = openSync(path, "r");
  const length = readSync(file, start);
  closeSync(file);
  return length === 0 || start.toString("latin1") === HEADER;
}

/** Explains a refusal by the file system or SQLite; returns other errors unchanged. */
export function unwritable(path: string, cause: unknown): unknown {
  const { code, errcode, message } = cause as NodeJS.ErrnoException & { errcode?: number };
  if (errcode === undefined && !/^E[A-Z]+$/.test(code ?? "")) return cause;
  const reason = errcode === undefined ? code : message;
  return new Error(
    `cannot write ${path} (${reason}): name a file in a folder that this user may write, with room in it`,
    { cause },
  );
}
