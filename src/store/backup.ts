// A backup of a file database: one file, complete and checked before it has its name.
import { existsSync, statSync } from "node:fs";
import { partialName, place, removeDatabase, removeLeftovers } from "./placed-file.ts";
import { checkCopyOf, openSnapshot } from "./snapshot.ts";
import type { OnCopied, RowCounts, Snapshot } from "./snapshot.ts";

export interface BackupOptions {
  readonly database: string;
  /** The backup. */
  readonly to: string;
  /** Whether it may replace a file of that name. */
  readonly replaces: boolean;
  readonly onCopied: OnCopied;
  /** Called when all is copied. */
  readonly onChecking: () => void;
}

/** What is in a backup. */
export interface Contents {
  readonly schema: string;
  readonly bytes: number;
  readonly rows: RowCounts;
  readonly documents: RowCounts;
  readonly masterKeys: ReturnType<Snapshot["masterKeys"]>;
}

/**
 * Holds up nobody who uses the database. Rejects with one line for the operator, leaving nothing
 * behind, and an earlier backup of that name as it was.
 */
export async function backUp(options: BackupOptions): Promise<Contents> {
  const { database, to, replaces, onCopied, onChecking } = options;
  refuseTaken(to, replaces);
  using snapshot = openSnapshot(database, { isInUse: true });
  const partial = partialName(to);
  try {
    removeLeftovers(to);
    await snapshot.copyTo(partial, onCopied);
    onChecking();
    const rows = checkCopy(partial, snapshot);
    const { bytes, ...contents } = contentsOf(snapshot, partial);
    refuseTaken(to, replaces);
    place(partial, to);
    return { ...contents, bytes, rows };
  } catch (cause) {
    throw unwritable(to, cause);
  } finally {
    removeDatabase(partial);
  }
}

/** Throws unless the copy is sound, and has each row of the snapshot. Returns the rows by table. */
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
  if (replaces || !existsSync(path)) return;
  throw new Error(`${path} exists: name another file, or replace it with --force`);
}

/** For what the file system or SQLite refuses; other errors stay. */
export function unwritable(path: string, cause: unknown): unknown {
  const { code, errcode, message } = cause as NodeJS.ErrnoException & { errcode?: number };
  if (errcode === undefined && !/^E[A-Z]+$/.test(code ?? "")) return cause;
  const reason = errcode === undefined ? code : message;
  return new Error(
    `cannot write ${path} (${reason}): name a file in a folder that this user may write, with room in it`,
    { cause },
  );
}
