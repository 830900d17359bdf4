// Measures the system's backlog for its metrics. The cost of each query is bounded, whatever the
// backlog.
import { sql } from "kysely";
import type { Ownership } from "../model/access.ts";
import { closedBetween, INSIGHT_DELAY_MS, INSIGHTS_LEASE } from "../model/insight.ts";
import { periodEnd } from "../model/periods.ts";
import { encodeTime } from "../runtime/ids.ts";
import type { Database } from "./database.ts";
import { textAt } from "./database.ts";
import { listStale } from "./insights/stale-insights.ts";
import { cursorOf } from "./leases.ts";
import { FOR_EVER } from "./ledger/schedules.ts";
import type { PendingAt } from "./records.ts";

/** A page of deployments, counted. */
export interface CountedDeployments {
  readonly at: readonly { readonly location_id: string; readonly deployments: number }[];
  /** The `after` of the next page; undefined at the end. */
  readonly next: string | undefined;
}

const STALE_LOOKED_AT = 50;

/** The timing of an executed call: lateness in milliseconds, uncertainty in microseconds. */
export interface RecentTiming {
  readonly location_id: string;
  readonly lateness: number;
  readonly uncertainty: number | null;
}

export function createFleetStore(database: Database) {
  const { kysely } = database;
  return {
    /** Counts, by location, the pending runs that expire first, at most `limit`. */
    pendingRuns: (limit: number): Promise<PendingAt[]> =>
      countPending(kysely, limit).select("location_id").groupBy("location_id").execute(),
    /** Counts the same runs by location and owner. */
    pendingRunsByOwner: (limit: number): Promise<(PendingAt & Ownership)[]> =>
      countPending(kysely, limit)
        .select(["location_id", "owner", "owner_org"])
        .groupBy(["location_id", "owner", "owner_org"])
        .execute(),
    /** Returns the timings among the newest `limit` results of runs triggered since then. */
    recentTimings: (since: number, limit: number): Promise<RecentTiming[]> =>
      recentTimings(database, since, limit),
    /** Counts by location the `limit` deployments after this one, in the order of their ids. */
    countDeployments: (after: string, limit: number): Promise<CountedDeployments> =>
      countPage(database, after, limit),
    /** Returns since when the longest-waiting report is overdue; undefined if none is. */
    insightsOverdueSince: (now: number): Promise<number | undefined> => overdueSince(database, now),
    /** Returns the earliest expiry of a used token that cannot be renewed, if there is one. */
    firstTokenExpiry: (): Promise<string | undefined> => firstTokenExpiry(database),
  };
}

async function firstTokenExpiry(database: Database): Promise<string | undefined> {
  const expiry = textAt(database, "documents.document", ["token", "expire_time"]);
  const row = await database.kysely
    .selectFrom("documents")
    .select((eb) => eb.fn.min(expiry).as("first"))
    .where("documents.kind", "=", "token")
    .where("renewal_time", "is", null)
    .where("documents.id", "in", (eb) =>
      eb
        .selectFrom("documents as call")
        .select("call.token_id")
        .where("call.kind", "=", "call")
        .where("call.token_id", "is not", null),
    )
    .executeTakeFirst();
  return row?.first ?? undefined;
}

const countPending = (kysely: Database["kysely"], limit: number) =>
  kysely
    .selectFrom(
      kysely
        .selectFrom("pending_runs")
        .select(["location_id", "owner", "owner_org", "due_time"])
        .orderBy("expires_at")
        .limit(limit)
        .as("first"),
    )
    .select((eb) => eb.fn.countAll<number>().as("runs"))
    .select((eb) => eb.fn.min("due_time").as("oldest_due"));

/** Ids begin with the time of the trigger: one walk along the primary key, newest first. */
async function recentTimings(
  { kysely }: Database,
  since: number,
  limit: number,
): Promise<RecentTiming[]> {
  const newest = kysely
    .selectFrom("results")
    .select(["location", "started", "time", "due_time", "uncertainty"])
    .where("id", ">=", encodeTime(since))
    .orderBy("id", "desc")
    .limit(limit);
  return kysely
    .selectFrom(newest.as("newest"))
    .innerJoin("names", "names.id", "newest.location")
    .select(["names.name as location_id", "uncertainty"])
    .select((eb) => eb("time", "-", eb.ref("due_time")).as("lateness"))
    .where("started", "=", 1)
    .execute();
}

async function countPage(
  { kysely }: Database,
  after: string,
  limit: number,
): Promise<CountedDeployments> {
  // Adding 0 keeps both databases off the index of ends: nearly all schedules have the same end.
  // For an equality, PostgreSQL would expect few rows, and sort the whole table for each page.
  const holds = sql<boolean>`active_until + 0 >= ${FOR_EVER}`;
  const page = kysely
    .selectFrom("schedules")
    .select(["deployment_id", "location_id"])
    .where("deployment_id", ">", after)
    .where(holds)
    .orderBy("deployment_id")
    .limit(limit);
  const rows = await kysely
    .selectFrom(page.as("page"))
    .select(["location_id", (eb) => eb.fn.countAll<number>().as("deployments")])
    .select((eb) => eb.fn.max("deployment_id").as("last"))
    .groupBy("location_id")
    .execute();
  const counted = rows.reduce((sum, { deployments }) => sum + deployments, 0);
  const last = rows.map((row) => row.last).toSorted();
  return { at: rows, next: counted === limit ? last.at(-1) : undefined };
}

async function overdueSince(database: Database, now: number): Promise<number | undefined> {
  const until = now - INSIGHT_DELAY_MS;
  const cursor = await cursorOf(database, INSIGHTS_LEASE);
  const unmarked = cursor === null ? [] : closedBetween(cursor, until);
  const stale = await listStale(database, until, undefined, STALE_LOOKED_AT);
  const since = [
    ...unmarked.map(({ end }) => end + INSIGHT_DELAY_MS),
    // A mark's version starts as the time of its creation.
    ...stale.map(({ kind, start, version }) =>
      Math.max(version, periodEnd(kind, start) + INSIGHT_DELAY_MS),
    ),
  ];
  return since.length === 0 ? undefined : Math.min(...since);
}
