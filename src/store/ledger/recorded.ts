// Outcomes recorded in the last minutes, for listeners, in commit order.
//
// On PostgreSQL, a row gets its number before its transaction commits, so it may appear behind one
// that has been read already. Rows are therefore ordered by transaction, and read only once no
// earlier transaction is running: https://www.postgresql.org/docs/current/functions-info.html,
// "snapshots". Any long transaction on the server delays them.
import { sql } from "kysely";
import type { RawBuilder } from "kysely";
import type { Owned } from "../../model/access.ts";
import { chunksOf } from "../../model/chunks.ts";
import { DAY_MS } from "../../model/periods.ts";
import { RECORDED_FROM_START } from "../../model/recorded.ts";
import type { RecordedBatch, RecordedOutcome, RecordedPlace } from "../../model/recorded.ts";
import { latencyOf, timeOfResult } from "../../model/result.ts";
import type { ReportedResult, ResultCode, WorkflowResult } from "../../model/result.ts";
import { toMicros } from "../../model/timing.ts";
import type { Database } from "../database.ts";
import { isAmong, textAt } from "../database.ts";

/** Older results are not news: simulated or imported history, for example. */
const NEWS_MS = DAY_MS;

/** Listeners read several rows at once. */
const OUTCOMES_PER_ROW = 1000;

export const createRecordedStore = (database: Database) => ({
  /** The place of the newest row; undefined if there is none. */
  async last(): Promise<RecordedPlace | undefined> {
    const [row] = await readRows(database, sql`true`, "desc", 1);
    return row?.place;
  },
  /**
   * Undefined if the number is unknown, or its row has been removed. 0 is the place before the
   * first row, and known until that is removed.
   */
  async find(seq: number): Promise<RecordedBatch | undefined> {
    const isStart = seq === RECORDED_FROM_START.seq;
    const condition = isStart ? sql`true` : sql`seq = ${seq}`;
    const [row] = await readRows(database, condition, "asc", 1);
    if (!isStart) return row;
    const isWhole = row === undefined || row.place.seq === 1;
    return isWhole ? { place: RECORDED_FROM_START, outcomes: [] } : undefined;
  },
  /** Rows after a place, in order. No row ever appears before one that has been returned. */
  after({ xact, seq }: RecordedPlace, limit: number): Promise<RecordedBatch[]> {
    const isAfter = database.rowLocks
      ? sql`(xact, seq) > (${String(xact)}::xid8, ${seq})`
      : sql`seq > ${seq}`;
    return readRows(database, isAfter, "asc", limit);
  },
  /**
   * Removes rows older than this that readers could have read, except the newest: it shows that
   * nothing came after it.
   */
  async prune(olderThanMs: number): Promise<void> {
    const until = sql`${await nowIn(database)} - ${olderThanMs}`;
    const newest = sql`select seq from recorded where ${isSettled(database)}
      order by ${orderOf(database, "desc")} limit 1`;
    await sql`delete from recorded
      where (${isSettled(database)} or ${isForeign(database)})
        and time <= ${until} and seq not in (${newest})`.execute(database.kysely);
  },
  /** Who may read the results of these calls and workflows, by their ids. */
  sharing: (targetIds: readonly string[]): Promise<ReadonlyMap<string, Owned>> =>
    readSharing(database, targetIds),
});

/** Call it in the transaction that stores the results. */
export async function noteRecorded(
  database: Database,
  results: readonly ReportedResult[],
  workflows: readonly WorkflowResult[],
): Promise<void> {
  const outcomes = [...workflows.map(ofWorkflow), ...results.map(ofCall)];
  for (const chunk of chunksOf(outcomes, OUTCOMES_PER_ROW)) {
    const newest = chunk.reduce((latest, [, , , , , , , time]) => Math.max(latest, time), 0);
    const now = await nowIn(database);
    await sql`insert into recorded (time, body) select ${now}, ${JSON.stringify(chunk)}
      where ${newest} > ${now} - ${sql.lit(NEWS_MS)}`.execute(database.kysely);
  }
}

/** The fields of a `RecordedOutcome`, in this order. */
type Packed = readonly [
  result_id: string,
  call_id: string | null,
  workflow_id: string | null,
  workflow_result_id: string | null,
  location_id: string,
  deployment_id: string | null,
  result: ResultCode,
  time: number,
  latency: number | null,
  is_late: 0 | 1,
];

const ofCall = ({ id, meta, timing }: ReportedResult): Packed => [
  id,
  meta.call_id,
  meta.workflow_id,
  meta.workflow_result_id,
  meta.location_id,
  meta.deployment_id,
  meta.result,
  timeOfResult(meta),
  latencyOf(toMicros(timing.total)),
  meta.is_late ? 1 : 0,
];

const ofWorkflow = ({ id, meta }: WorkflowResult): Packed => [
  id,
  null,
  meta.workflow_id,
  id,
  meta.location_id,
  meta.deployment_id,
  meta.result,
  timeOfResult(meta),
  null,
  meta.is_late ? 1 : 0,
];

const unpacked = (packed: Packed): RecordedOutcome => {
  const [result_id, call_id, workflow_id, workflow_result_id, location_id, ...rest] = packed;
  const [deployment_id, result, time, latency, late] = rest;
  const ids = { result_id, call_id, workflow_id, workflow_result_id, location_id, deployment_id };
  return { ...ids, result, time, latency, is_late: late === 1 };
};

/** The time of the database server, if there is one: processes' clocks differ. */
const nowIn = async ({ rowLocks, timeOf: read, kysely }: Database): Promise<RawBuilder<number>> =>
  rowLocks
    ? sql`(extract(epoch from clock_timestamp()) * 1000)::bigint`
    : sql`${await read(kysely)}`;

const isSettled = ({ rowLocks }: Database): RawBuilder<boolean> =>
  rowLocks ? sql`xact < pg_snapshot_xmin(pg_current_snapshot())` : sql`true`;

/** A dump of another server has numbers that transactions of this one have yet to reach. */
const isForeign = ({ rowLocks }: Database): RawBuilder<boolean> =>
  rowLocks ? sql`xact >= pg_snapshot_xmax(pg_current_snapshot())` : sql`false`;

const orderOf = ({ rowLocks }: Database, order: "asc" | "desc"): RawBuilder<unknown> =>
  sql.raw(rowLocks ? `xact ${order}, seq ${order}` : `seq ${order}`);

async function readRows(
  database: Database,
  condition: RawBuilder<unknown>,
  order: "asc" | "desc",
  limit: number,
): Promise<RecordedBatch[]> {
  const xact = database.rowLocks ? sql`xact::text::bigint` : sql`0`;
  const { rows } = await sql<RecordedPlace & { readonly body: string }>`
    select ${xact} as xact, seq, body from recorded
    where ${isSettled(database)} and ${condition}
    order by ${orderOf(database, order)} limit ${limit}`.execute(database.kysely);
  return rows.map(({ body, ...place }) => ({
    place,
    outcomes: (JSON.parse(body) as Packed[]).map(unpacked),
  }));
}

async function readSharing(
  database: Database,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Owned>> {
  const rows = await database.kysely
    .selectFrom("documents")
    .select(["id", "kind", "owner", "owner_org", "shared_org", "shared_community"])
    .select(textAt(database, "document", ["access", "results"]).as("results"))
    .where(isAmong(database, "id", ids))
    .execute();
  return new Map(
    rows.map(({ id, kind, owner, owner_org, shared_org, shared_community, results }) => {
      const community = kind === "call" ? isTrue(results) : shared_community === 1;
      return [id, { owner, owner_org, org: shared_org === 1, community }];
    }),
  );
}

/** Whether a flag is true, as either database reads it from JSON. */
export const isTrue = (flag: unknown): boolean => flag === 1 || flag === "true";
