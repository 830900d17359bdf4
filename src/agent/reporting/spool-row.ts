// A report as the spool stores it: its JSON, with a checksum by which a damaged one is known.
import type { SQLOutputValue } from "node:sqlite";
import { crc32 } from "node:zlib";
import { parseInstant } from "../../model/instant.ts";
import { runReportValidator } from "../../model/result.ts";
import type { RunReport } from "../../model/result.ts";

export interface SpoolRow {
  readonly run_id: string;
  readonly location_id: string;
  /** Epoch milliseconds. */
  readonly due_time: number;
  /** CRC-32 of `report`. */
  readonly checksum: number;
  readonly report: Uint8Array;
}

export interface StoredRow extends SpoolRow {
  readonly seq: number;
}

export const COLUMNS = "seq, run_id, location_id, due_time, checksum, report";

export type Values = Readonly<Record<string, SQLOutputValue>>;

/** The table is strict: a column holds what it was declared to. */
export const rowOf = (row: Values): StoredRow => ({
  seq: Number(row["seq"]),
  run_id: String(row["run_id"]),
  location_id: String(row["location_id"]),
  due_time: Number(row["due_time"]),
  checksum: Number(row["checksum"]),
  report: row["report"] instanceof Uint8Array ? row["report"] : new Uint8Array(),
});

export function encodeReport(report: RunReport): SpoolRow {
  const { run_id, location_id, results, workflow } = report;
  const due = (workflow ?? results[0])?.meta.due_time ?? "";
  const encoded = Buffer.from(JSON.stringify(report));
  return {
    run_id,
    location_id,
    due_time: parseInstant(due) ?? 0,
    checksum: crc32(encoded),
    report: encoded,
  };
}

/** Undefined where the row is not as it was written. */
export function decodeReport(row: SpoolRow): RunReport | undefined {
  if (crc32(row.report) !== row.checksum) return undefined;
  const report = parse(Buffer.from(row.report).toString());
  // Another version may have written it.
  return runReportValidator.accepts(report) && report.run_id === row.run_id ? report : undefined;
}

// Nothing at all has a checksum too, 0.
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
