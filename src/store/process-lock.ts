// Keeps a second process off a file database. The operating system frees the lock with the process,
// however it ends.
import { DatabaseSync } from "node:sqlite";

// https://www.sqlite.org/rescode.html#busy
const SQLITE_BUSY = 5;

/**
 * Locks by a file of its own, so that short commands may still use the database beside the process
 * that serves it. Returns what frees it. Throws with one line for the operator while another
 * process has it.
 */
export function lockForProcess(path: string, folder: string): () => void {
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
    throw new Error(
      `another sonde serve is at work in ${folder}: stop it, or give this one a folder of its own with SONDE_DATA_DIR`,
      { cause },
    );
  }
  const locked = database;
  return () => locked.close();
}
