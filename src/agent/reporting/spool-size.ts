// How many reports a spool holds while no agent uses it. Looking leaves the file as it is.
import { pathToFileURL } from "node:url";
import { DatabaseSync } from "node:sqlite";

/** Throws SQLite's error for a file that is no spool. */
export function spoolSize(path: string): { readonly reports: number; readonly bytes: number } {
  const url = pathToFileURL(path);
  url.searchParams.set("immutable", "1");
  const database = new DatabaseSync(url, { readOnly: true });
  try {
    const row = database
      .prepare("select count(*) as reports, coalesce(sum(length(report)), 0) as bytes from reports")
      .get();
    return { reports: Number(row?.["reports"]), bytes: Number(row?.["bytes"]) };
  } finally {
    database.close();
  }
}
