// Reads the overview of many calls at once: what they are, where they run, their latest outcomes
// and their last hours.
import { sql } from "kysely";
import type { RawBuilder } from "kysely";
import type { Actor, Owned, Ownership } from "../../model/access.ts";
import type { HourCount } from "../../model/call-overview.ts";
import { DAY_MS } from "../../model/periods.ts";
import { latencyOf, MADE_CODES } from "../../model/result.ts";
import type { ResultCode } from "../../model/result.ts";
import type { Database } from "../database.ts";
import { isAmong, textAt } from "../database.ts";
import { listQuery } from "./document-lists.ts";
import { selectNumber } from "../names.ts";
import { isTrue } from "../ledger/recorded.ts";
import type { Page } from "../records.ts";
import { readNewestAt } from "../results/newest-results.ts";
import type { CallAt, NewestResult } from "../results/newest-results.ts";
import { expiredBefore, growingRanges, nearStarts } from "../result-days.ts";

export interface ListedCall extends Owned {
  readonly id: string;
  readonly name: string;
  readonly tags: readonly string[];
  readonly method: string;
  readonly domain: string;
  /** Whether its results, and its statistics, are open to everybody. */
  readonly opens: { readonly results: boolean; readonly stats: boolean };
}

export interface LatestResult {
  readonly result_id: string;
  readonly location_id: string;
  readonly result: ResultCode;
  readonly time: number;
  readonly latency: number | null;
}

export interface CallHours {
  readonly counts: readonly HourCount[];
  /** The number of latencies in each bucket, of the calls that were made. */
  readonly buckets: ReadonlyMap<number, number>;
}

/** Where a call or workflow is deployed, and by whom. */
export interface DeployedAt extends Ownership {
  readonly location_id: string;
}

/** Each method reads dozens of calls in a few statements. */
export const createCallOverviewStore = (database: Database) => ({
  /** Lists the calls that `reader` may read. */
  list: (reader: Actor, page: Page): Promise<ListedCall[]> => readCalls(database, reader, page),
  /** Returns each call's latest result, by its start, or by when it was due if it never started. */
  latest: (ids: readonly string[], now: number): Promise<ReadonlyMap<string, LatestResult>> =>
    readLatest(database, ids, now),
  /** Returns the latest result at each place, of today and the three days before. */
  newestAt: (places: readonly CallAt[], now: number): Promise<NewestResult[]> =>
    readNewestAt(database, places, now),
  /** Returns each call's hours of the day that starts at `from`. */
  hours: (ids: readonly string[], from: number): Promise<ReadonlyMap<string, CallHours>> =>
    readHours(database, ids, from),
  /** Returns where they ran, or should have run, in the day that starts at `from`. */
  locations: (
    ids: readonly string[],
    from: number,
  ): Promise<ReadonlyMap<string, readonly string[]>> => readLocations(database, ids, from),
  deployments: (ids: readonly string[]): Promise<ReadonlyMap<string, readonly DeployedAt[]>> =>
    readDeployments(database, ids),
  /** Returns, by call, the deployments of the workflows that contain it. */
  workflowDeployments: (
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, readonly DeployedAt[]>> => readWorkflowDeployments(database, ids),
});

async function readCalls(database: Database, reader: Actor, page: Page): Promise<ListedCall[]> {
  const text = (...path: string[]) => textAt(database, "document", path);
  const rows = await database.kysely
    .selectFrom(listQuery(database, "call", reader, {}, page).as("page"))
    .select(["id", "owner", "owner_org", "shared_org", "shared_community"])
    .select([text("meta", "name").as("name"), text("meta", "tags").as("tags")])
    .select(text("meta", "domain").as("domain"))
    .select([text("request", "method").as("method")])
    .select([text("access", "results").as("results"), text("access", "stats").as("stats")])
    .orderBy("id")
    .execute();
  return rows.map(({ id, name, tags, method, domain, owner, owner_org, ...flags }) => ({
    id,
    owner,
    owner_org,
    name: name ?? "",
    tags: JSON.parse(tags ?? "[]") as string[],
    method: method ?? "",
    domain: domain ?? "",
    org: flags.shared_org === 1,
    community: flags.shared_community === 1,
    opens: { results: isTrue(flags.results), stats: isTrue(flags.stats) },
  }));
}

type TargetDeployedAt = DeployedAt & { readonly target_id: string };

const deploymentRows = (database: Database) =>
  database.kysely
    .selectFrom("documents")
    .select(["documents.owner", "documents.owner_org"])
    .select(textAt(database, "document", ["deployment", "location_id"]).as("location_id"))
    .where("documents.kind", "=", "deployment");

async function readDeployments(
  database: Database,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly DeployedAt[]>> {
  const ofTargets = deploymentRows(database)
    .select("target_id")
    .where(isAmong(database, "target_id", ids))
    .$castTo<TargetDeployedAt>();
  return Map.groupBy(await ofTargets.execute(), ({ target_id }) => target_id);
}

async function readWorkflowDeployments(
  database: Database,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly DeployedAt[]>> {
  const ofWorkflows = deploymentRows(database)
    .innerJoin("document_calls", "document_calls.document_id", "documents.target_id")
    .select("call_id as target_id")
    .where("document_calls.kind", "=", "workflow")
    .where(isAmong(database, "call_id", ids))
    .$castTo<TargetDeployedAt>();
  return Map.groupBy(await ofWorkflows.execute(), ({ target_id }) => target_id);
}

type LatestRow = Omit<LatestResult, "latency"> & {
  readonly call_id: string;
  readonly total: number | null;
};

/** Asks the statistics: PostgreSQL would open the tables of all days to find no result. */
async function withResults(database: Database, ids: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from names where ${isAmong(database, "name", ids)} and exists (
      select 1 from stats where call = names.id and kind = (${selectNumber(database, "DAY")})
        and period >= ${await expiredBefore(database)} and count > 0
    )`.execute(database.kysely);
  return rows.map(({ name }) => name);
}

async function readLatest(
  database: Database,
  ids: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, LatestResult>> {
  const latest = new Map<string, LatestResult>();
  const near = await nearStarts(database);
  const ran = await withResults(database, ids);
  for (const range of growingRanges(database, now, "backwards")) {
    const missing = ran.filter((id) => !latest.has(id));
    if (missing.length === 0) break;
    const { rows } = await sql<LatestRow>`
      with latest as materialized (
        select name as call_id, (
          select results.id from results where call = names.id and ${near(range)}
            and time >= ${range.start} and time < ${range.end}
          order by time desc, results.id desc limit 1
        ) as result_id
        from names where ${isAmong(database, "name", missing)}
      )
      select call_id, result_id, locations.name as location_id, codes.name as result, time, total
      from latest join results on results.id = latest.result_id
      join names as locations on locations.id = results.location
      join names as codes on codes.id = results.result
      where ${near(range)}`.execute(database.kysely);
    for (const { call_id, total, ...row } of rows)
      latest.set(call_id, { ...row, latency: latencyOf(total) });
  }
  return latest;
}

async function readHours(
  database: Database,
  ids: readonly string[],
  from: number,
): Promise<ReadonlyMap<string, CallHours>> {
  const ofHours = hoursOf(database, ids, from);
  const { rows: counts } = await sql<HourCount & { readonly call_id: string }>`
    select hours.*, codes.name as code from (
      select calls.name as call_id, period, result, ${total("count")} as count, max(max) as max
      from names as calls cross join stats where ${ofHours}
      group by calls.name, period, result
    ) as hours join names as codes on codes.id = hours.result`.execute(database.kysely);
  const made = sql.join(MADE_CODES.map((code) => sql`${selectNumber(database, code)}`));
  const { rows: buckets } = await sql<
    Record<"call_id", string> & Record<"bucket" | "count", number>
  >`
    select calls.name as call_id, bucket, ${total("stat_buckets.count")} as count
    from names as calls cross join stats cross join stat_buckets
    where ${ofHours} and stats.result in (${made}) and stat_id = stats.id
    group by calls.name, bucket`.execute(database.kysely);
  const bucketsOf = Map.groupBy(buckets, ({ call_id }) => call_id);
  const countsOf = Map.groupBy(counts, ({ call_id }) => call_id);
  return new Map(
    [...countsOf].map(([id, each]) => [
      id,
      {
        counts: each,
        buckets: new Map(bucketsOf.get(id)?.map(({ bucket, count }) => [bucket, count])),
      },
    ]),
  );
}

async function readLocations(
  database: Database,
  ids: readonly string[],
  from: number,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await sql<Record<"call_id" | "location_id", string>>`
    select distinct calls.name as call_id, locations.name as location_id
    from names as calls cross join stats cross join names as locations
    where ${hoursOf(database, ids, from)} and locations.id = stats.location`.execute(
    database.kysely,
  );
  const byCall = Map.groupBy(rows, ({ call_id }) => call_id);
  return new Map([...byCall].map(([id, each]) => [id, each.map(({ location_id }) => location_id)]));
}

/** For `calls cross join stats`, in this order: SQLite would read the hours of all calls first. */
const hoursOf = (database: Database, ids: readonly string[], from: number): RawBuilder<boolean> =>
  sql`${isAmong(database, "calls.name", ids)} and stats.call = calls.id
    and stats.kind = (${selectNumber(database, "HOUR")}) and stats.period >= ${from}
    and stats.period < ${from + DAY_MS} and stats.count > 0`;

/** PostgreSQL sums bigints to an unbounded type. */
const total = (column: string): RawBuilder<number> => sql.raw(`cast(sum(${column}) as bigint)`);
