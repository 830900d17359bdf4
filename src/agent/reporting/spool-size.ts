// Counts the reports in a spool that no agent is using, without changing the spool.
import { existsSync, realpathSync, rmSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { DatabaseSync } from "node:sqlite";
import { isBusy } from "./spool-file.ts";

/** Throws with one line for the operator if an agent is using the file, or if it is no spool. */
export function spoolSize(path: string): { readonly reports: number; readonly bytes: number } {
  const file = existsSync(path) ? realpathSync(path) : path;
  const url = pathToFileURL(file);
  // A killed agent leaves its latest reports in the WAL, beside the file, not beside a link to it.
  const hasLog = existsSync(`${file}-wal`);
  if (!hasLog) url.searchParams.set("immutable", "1");
  const hadIndex = existsSync(`${file}-shm`);
  try {
    using database = new DatabaseSync(url, { readOnly: true });
    const row = database
      .prepare("select count(*) as reports, coalesce(sum(length(report)), 0) as bytes from reports")
      .get();
    return { reports: Number(row?.["reports"]), bytes: Number(row?.["bytes"]) };
  } catch (cause) {
    throw unreadable(path, cause as Error);
  } finally {
    if (hasLog && !hadIndex) rmSync(`${file}-shm`, { force: true }); // agents keep theirs in memory
  }
}

const unreadable = (path: string, cause: Error): Error =>
  isBusy(cause)
    ? new Error(
        `an agent is using ${path}, and does not answer: set SONDE_OPS_PORT to the port of its process`,
        { cause },
      )
    : new Error(
        `cannot read the spool ${path} (${cause.message}): run this as the user of the service, or move the file away if it is damaged`,
        { cause },
      );
