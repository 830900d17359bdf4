// Folds results into the statistics of their hour, day and month, in the transaction that stores
// them. Rows are merged in place, by the formulas of model/summary.ts in SQL: none is read first,
// and concurrent transactions on the same rows lose no updates.
import { KEPT_KINDS, periodStart } from "../../model/periods.ts";
import type { KeptKind } from "../../model/periods.ts";
import { summarizeResults } from "../../model/counted-result.ts";
import type { CountedResult } from "../../model/counted-result.ts";
import { countOnly, EMPTY_SUMMARY, mergeSummaries } from "../../model/summary.ts";
import type { Summary } from "../../model/summary.ts";
import { takeExcluded } from "../bulk.ts";
import type { BulkInsert, BulkRow } from "../bulk.ts";
import type { Database } from "../database.ts";
import { insertRows } from "../database.ts";
import type { Schema } from "../schema.ts";
import { MOMENTS, PHASE_SUMS, SUMMARY_COLUMNS } from "./summary-rows.ts";

/** Where a result counts. */
export type CountedPlace = Pick<CountedResult, "call_id" | "location_id" | "result" | "time">;

type NumberOf = (name: string) => number;

/** Call it in a transaction. */
export async function storeStatChanges(
  database: Database,
  changes: readonly StatChange[],
): Promise<void> {
  await insertRows(database, MERGE_STATS, changes.map(toRow));
  await insertRows(database, MERGE_BUCKETS, changes.flatMap(toBucketRows));
}

/** Locks a row of the statistics until the end of the transaction; adds it if it is missing. */
export async function lockStat(
  database: Database,
  place: CountedPlace & { readonly kind: KeptKind },
  numberOf: NumberOf,
): Promise<void> {
  const key = keyOf(place, place.kind, place.time, numberOf);
  await insertRows(database, ADD_STAT, [toRow({ key, summary: EMPTY_SUMMARY })]);
  if (database.rowLocks) await rowOf(database, key).forUpdate().execute();
}

/** Replaces a row, which must be locked. Deletes it if the summary counts nothing. */
export async function replaceStat(
  database: Database,
  place: CountedPlace & { readonly kind: KeptKind },
  summary: Summary,
  numberOf: NumberOf,
): Promise<void> {
  const { kysely } = database;
  const key = keyOf(place, place.kind, place.time, numberOf);
  await kysely.deleteFrom("stat_buckets").where("stat_id", "in", rowOf(database, key)).execute();
  if (summary.count === 0)
    await kysely.deleteFrom("stats").where("id", "in", rowOf(database, key)).execute();
  else {
    await insertRows(database, REPLACE_STAT, [toRow({ key, summary })]);
    await insertRows(database, MERGE_BUCKETS, toBucketRows({ key, summary }));
  }
}

const rowOf = ({ kysely }: Database, key: Key) =>
  KEY.reduce(
    (query, column) => query.where(column, "=", key[column]),
    kysely.selectFrom("stats").select("id"),
  );

type Key = Record<(typeof KEY)[number], number>;

const KEY = ["kind", "period", "call", "location", "result"] as const;

export interface StatChange {
  readonly key: Key;
  readonly summary: Summary;
}

/** How statistics change when results are added and replace MISSED results. */
export function statChanges(
  added: readonly CountedResult[],
  replaced: readonly CountedPlace[],
  numberOf: NumberOf,
): StatChange[] {
  // Results of the same hour share their day and month.
  const byHour = Map.groupBy(
    added,
    ({ call_id, location_id, result, time }) =>
      `${call_id}|${location_id}|${result}|${periodStart("HOUR", time)}`,
  );
  const changes = new Map<string, StatChange>();
  const add = (place: CountedPlace, summary: Summary): void => {
    for (const kind of KEPT_KINDS) {
      const key = keyOf(place, kind, periodStart(kind, place.time), numberOf);
      const text = `${key.kind}|${key.period}|${key.call}|${key.location}|${key.result}`;
      const before = changes.get(text);
      const merged = before ? mergeSummaries(before.summary, summary) : summary;
      changes.set(text, { key, summary: merged });
    }
  };
  for (const group of byHour.values()) add(group[0] as CountedResult, summarizeResults(group));
  for (const place of replaced) add(place, countOnly(-1));
  // In the same order everywhere: transactions on the same rows wait for one another instead of
  // deadlocking.
  return [...changes.values()].toSorted(({ key: a }, { key: b }) => compare(a, b));
}

const keyOf = (
  { call_id, location_id, result }: CountedPlace,
  kind: KeptKind,
  period: number,
  numberOf: NumberOf,
): Key => ({
  kind: numberOf(kind),
  period,
  call: numberOf(call_id),
  location: numberOf(location_id),
  result: numberOf(result),
});

const compare = (a: Key, b: Key): number =>
  a.kind - b.kind ||
  a.period - b.period ||
  a.call - b.call ||
  a.location - b.location ||
  a.result - b.result;

const toRow = ({ key, summary }: StatChange): BulkRow<StatColumn> => {
  const { count, min, max, mean, m2, m3, phases } = summary;
  const { dns, tcp, handshake, upload, processing, download } = phases;
  return {
    ...key,
    count,
    min,
    max,
    mean,
    m2,
    m3,
    dns_count: dns.count,
    dns_sum: dns.sum,
    tcp_count: tcp.count,
    tcp_sum: tcp.sum,
    handshake_count: handshake.count,
    handshake_sum: handshake.sum,
    upload_count: upload.count,
    upload_sum: upload.sum,
    processing_count: processing.count,
    processing_sum: processing.sum,
    download_count: download.count,
    download_sum: download.sum,
  };
};

const toBucketRows = ({ key, summary }: StatChange): BulkRow<keyof Key | "bucket" | "count">[] =>
  [...summary.buckets].map(([bucket, count]) => ({ ...key, bucket, count }));

type PhaseColumn = (typeof PHASE_SUMS)[number];
type StatColumn = Exclude<keyof Schema["stats"], "id">;

const KEY_TYPES = {
  kind: "integer",
  period: "bigint",
  call: "integer",
  location: "integer",
  result: "integer",
} as const;

const sumOf = (column: string): string => `${column} = stats.${column} + excluded.${column}`;

// Subtracting a MISSED may leave a count of 0: null avoids the division, and the term becomes 0.
const [BEFORE, ADDED] = ["stats.count", "excluded.count"];
const TOTAL = `nullif(${BEFORE} + ${ADDED}, 0)`;
const DELTA = "(excluded.mean - stats.mean)";

const MERGED: Readonly<Record<(typeof MOMENTS)[number], string>> = {
  count: `${BEFORE} + ${ADDED}`,
  min: "case when excluded.min < stats.min then excluded.min else stats.min end",
  max: "case when excluded.max > stats.max then excluded.max else stats.max end",
  mean: `stats.mean + coalesce(${DELTA} * ${ADDED} / ${TOTAL}, 0)`,
  m2: `stats.m2 + excluded.m2
    + coalesce(${DELTA} * ${DELTA} * ${BEFORE} * ${ADDED} / ${TOTAL}, 0)`,
  m3: `stats.m3 + excluded.m3 + coalesce(
      ${DELTA} * ${DELTA} * ${DELTA} * ${BEFORE} * ${ADDED} * (${BEFORE} - ${ADDED})
        / ${TOTAL} / ${TOTAL}
      + 3 * ${DELTA} * (${BEFORE} * excluded.m2 - ${ADDED} * stats.m2) / ${TOTAL}, 0)`,
};

const STATS = {
  into: "stats",
  columns: {
    ...KEY_TYPES,
    count: "bigint",
    min: "bigint",
    max: "bigint",
    mean: "double precision",
    m2: "double precision",
    m3: "double precision",
    ...(Object.fromEntries(PHASE_SUMS.map((column) => [column, "bigint"])) as Record<
      PhaseColumn,
      "bigint"
    >),
  },
} as const;

const ON_CONFLICT = `on conflict (${KEY.join(", ")})`;

const MERGE_STATS: BulkInsert<StatColumn> = {
  ...STATS,
  onConflict: `${ON_CONFLICT} do update set ${[
    ...MOMENTS.map((column) => `${column} = ${MERGED[column]}`),
    ...PHASE_SUMS.map(sumOf),
  ].join(", ")}`,
};

const MERGE_BUCKETS: BulkInsert<keyof Key | "bucket" | "count"> = {
  into: "stat_buckets",
  columns: { ...KEY_TYPES, bucket: "integer", count: "bigint" },
  values: {
    stat_id: `(select id from stats where ${KEY.map((each) => `${each} = given.${each}`).join(" and ")})`,
    bucket: "given.bucket",
    count: "given.count",
  },
  onConflict:
    "on conflict (stat_id, bucket) do update set count = stat_buckets.count + excluded.count",
};

const ADD_STAT: BulkInsert<StatColumn> = { ...STATS, onConflict: `${ON_CONFLICT} do nothing` };
const REPLACE_STAT: BulkInsert<StatColumn> = {
  ...STATS,
  onConflict: `${ON_CONFLICT} do update set ${takeExcluded(SUMMARY_COLUMNS)}`,
};
