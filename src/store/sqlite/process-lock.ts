// Keeps a second process from serving a file database. The operating system frees the lock when the
// process ends.
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";

// https://www.sqlite.org/rescode.html#busy
const SQLITE_BUSY = 5;

/**
 * Locks a separate file: short commands can use the database while a process serves it. Returns the
 * unlock function. Throws with one line for the operator if another process holds the lock, or the
 * file cannot be locked.
 */
export function lockForProcess(
  path: string,
  advice = "stop it, or give this one its own folder with SONDE_DATA_DIR",
): () => void {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path);
    database.exec("pragma busy_timeout = 0; begin exclusive");
  } catch (cause) {
    database?.close();
    const { errcode, message } = cause as Error & { errcode?: number };
    if (errcode !== SQLITE_BUSY)
      throw new Error(
        `cannot lock ${path} (${message}): make the folder writable, with room in it, or set SONDE_DATA_DIR`,
        { cause },
      );
    throw new Error(`another sonde serve is running in ${dirname(path)}: ${advice}`, { cause });
  }
  const locked = database;
  return () => locked.close();
}
