// Converts statistics: histograms from base64 to counters, phases from JSON to columns.
import { sql } from "kysely";
import type { Kysely } from "kysely";
import hdr from "hdr-histogram-js";
import type { JsHistogram } from "hdr-histogram-js";
import { numberNames } from "./0007-results.ts";

/** Keeps a statement within its number of parameters. */
const PAGE = 500;

interface OldRow {
  readonly call_id: string;
  readonly kind: string;
  readonly period: number;
  readonly location_id: string;
  readonly result: string;
  readonly count: number;
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly m2: number;
  readonly m3: number;
  readonly histogram: string;
  readonly phases: string;
}

interface NewTables {
  names: { id: number; name: string };
  stats: Record<string, unknown>;
  stat_buckets: BucketRow;
}

interface BucketRow {
  readonly stat_id: number;
  readonly bucket: number;
  readonly count: number;
}

/** Omits weeks and years, which are now merged from days and months. Returns the last id. */
export async function copyStats(db: Kysely<unknown>): Promise<number> {
  for (let [lastId, after] = [0, ["", "", 0, "", ""] as readonly unknown[]]; ;) {
    const { rows } = await sql<OldRow>`
      select * from old_stats
      where (call_id, kind, period, location_id, result) > (${sql.join(after)})
        and kind in ('HOUR', 'DAY', 'MONTH')
      order by call_id, kind, period, location_id, result limit ${PAGE}`.execute(db);
    const last = rows.at(-1);
    if (!last) return lastId;
    await copyPage(db, rows, lastId + 1);
    lastId += rows.length;
    after = [last.call_id, last.kind, last.period, last.location_id, last.result];
  }
}

async function copyPage(
  db: Kysely<NewTables>,
  rows: readonly OldRow[],
  firstId: number,
): Promise<void> {
  const numberOf = await numberNames(
    db,
    rows.flatMap(({ kind, call_id, location_id, result }) => [kind, call_id, location_id, result]),
  );
  const stats = rows.map((row, n) => ({
    id: firstId + n,
    kind: numberOf(row.kind),
    period: row.period,
    call: numberOf(row.call_id),
    location: numberOf(row.location_id),
    result: numberOf(row.result),
    count: row.count,
    min: row.min,
    max: row.max,
    mean: row.mean,
    m2: row.m2,
    m3: row.m3,
    ...phaseColumns(row.phases),
  }));
  await db.insertInto("stats").values(stats).execute();
  for (const [n, { histogram }] of rows.entries()) {
    const buckets = bucketsOf(histogram, firstId + n);
    if (buckets.length > 0) await db.insertInto("stat_buckets").values(buckets).execute();
  }
}

/** Converts sums from milliseconds to whole microseconds. */
function phaseColumns(phases: string): Record<string, number> {
  const sums = JSON.parse(phases) as Record<string, { count: number; sum: number }>;
  return Object.fromEntries(
    Object.entries(sums).flatMap(([phase, { count, sum }]) => [
      [`${phase}_count`, count],
      [`${phase}_sum`, Math.round(sum * 1000)],
    ]),
  );
}

/** Identifies each bucket by its lowest latency. */
function bucketsOf(text: string, stat_id: number): BucketRow[] {
  if (text === "") return [];
  const histogram = hdr.decodeFromCompressedBase64(text, 64, false) as JsHistogram;
  return Array.from({ length: histogram.countsArrayLength }, (_, at) => ({
    stat_id,
    bucket: histogram.valueFromIndex(at),
    count: histogram.getCountAtIndex(at),
  })).filter(({ count }) => count > 0);
}
