// Keeps a second process off a file database. The operating system frees the lock with the process, however it ends.
import { DatabaseSync } from "node:sqlite";

// https://www.sqlite.org/rescode.html#busy
const SQLITE_BUSY = 5;

/**
 * Locks by a file of its own, so that short commands may still use the database beside the process that serves it.
 * Returns what frees it. Throws with one line for the operator while another process has it.
 */
export function lockForProcess(path: string, folder: string): () => void {
  const database = new DatabaseSync(path);
  try {
    database.exec("pragma busy_timeout = 0; begin exclusive");
  } catch (cause) {
    database.close();
    if ((cause as { readonly errcode?: number }).errcode !== SQLITE_BUSY)
      throw cause;
    throw new Error(
      `another sonde serve is at work in ${folder}: stop it, or give this one a folder of its own with SONDE_DATA_DIR`,
      { cause },
    );
  }
  return () => database.close();
}
