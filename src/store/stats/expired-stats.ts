// Removes expired statistics: those of hours, and the percentiles of days and months.
import { sql } from "kysely";
import { periodStart } from "../../model/periods.ts";
import type { KeptKind } from "../../model/periods.ts";
import type { Batch, RemovalPlace, Removed } from "../../model/retention.ts";
import type { Database } from "../database.ts";
import { countAll, isAmong } from "../database.ts";
import { selectNumber } from "../names.ts";

interface StatPlace {
  readonly id: number;
  readonly period: number;
  readonly call: number;
  readonly location: number;
  readonly result: number;
}

/**
 * Deletes the statistics before their histograms: by then, a result recorded concurrently has
 * committed its histogram, or creates new rows.
 */
export async function removeHours(database: Database, batch: Batch): Promise<Removed> {
  const { kept, limit, dryRun = false } = batch;
  const { kysely } = database;
  const found = await statsBetween(database, "HOUR", [0, kept.hours], batch);
  if (!dryRun) {
    const ids = found.map(({ id }) => id);
    await kysely
      .deleteFrom("stats")
      .where(isAmong(database, "id", ids))
      .execute();
    await kysely
      .deleteFrom("stat_buckets")
      .where(isAmong(database, "stat_id", ids))
      .execute();
  }
  const next = found.length < limit ? undefined : placeOf("HOUR", found.at(-1));
  return { rows: found.length, next };
}

/** Deletes the histograms of days, then of months. The statistics themselves stay. */
export async function removePercentiles(database: Database, batch: Batch): Promise<Removed> {
  const { kept, after, limit, dryRun = false, doneBefore } = batch;
  const kind = after?.[0] === "MONTH" ? "MONTH" : "DAY";
  const range = [periodStart(kind, doneBefore ?? 0), periodStart(kind, kept.hours)] as const;
  const found = await statsBetween(database, kind, range, batch);
  const ended = kind === "DAY" ? (["MONTH"] as const) : undefined;
  const next = found.length < limit ? ended : placeOf(kind, found.at(-1));
  const ids = found.map(({ id }) => id);
  const ofThese = isAmong(database, "stat_id", ids);
  if (dryRun) {
    const counters = database.kysely.selectFrom("stat_buckets").where(ofThese);
    return { rows: await countAll(counters), next };
  }
  const { numDeletedRows } = await database.kysely
    .deleteFrom("stat_buckets")
    .where(ofThese)
    .executeTakeFirstOrThrow();
  return { rows: Number(numDeletedRows), next };
}

/** Reads statistics of the periods in a range, in index order, after the place of the batch. */
async function statsBetween(
  database: Database,
  kind: KeptKind,
  [from, to]: readonly [from: number, to: number],
  { after, limit }: Batch,
): Promise<readonly StatPlace[]> {
  const [, ...place] = after ?? [];
  let rows = database.kysely
    .selectFrom("stats")
    .select(["id", "period", "call", "location", "result"])
    .where("kind", "=", selectNumber(database, kind))
    .where("period", ">=", Number(place[0] ?? from))
    .where("period", "<", to);
  if (place.length > 0)
    rows = rows.where(sql<boolean>`(period, call, location, result) > (${sql.join(place)})`);
  return rows
    .orderBy("period")
    .orderBy("call")
    .orderBy("location")
    .orderBy("result")
    .limit(limit)
    .execute();
}

const placeOf = (kind: KeptKind, row: StatPlace | undefined): RemovalPlace =>
  row && [kind, row.period, row.call, row.location, row.result];
