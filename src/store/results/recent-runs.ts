// Summarizes recent runs: outcomes, latency, lateness and uncertainty, and the calls that fail.
import { sql } from "kysely";
import type { ResultCode } from "../../model/result.ts";
import type { Database } from "../database.ts";
import { textAt } from "../database.ts";
import { idsBetween } from "../result-days.ts";
import { selectNumber } from "../names.ts";

/** Runs are found by the trigger time in their ids, so those with a longer delay are left out. */
const LONGEST_DELAY_MS = 600_000;

export interface RecentRuns {
  readonly result: ResultCode;
  readonly count: number;
  /** Averages and the worst latency, in microseconds; null where no call was made. */
  readonly latency: number | null;
  readonly worst_latency: number | null;
  readonly uncertainty: number | null;
  /** Milliseconds from due to started; null where nothing started. */
  readonly lateness: number | null;
  readonly worst_lateness: number | null;
}

export interface FailingCall {
  readonly call_id: string;
  readonly name: string;
  readonly location_id: string;
  readonly result: ResultCode;
  readonly message: string | null;
  readonly count: number;
}

export const createRecentRuns = (database: Database) => ({
  /** Results of calls that were due from `from` until before `to`, by code. */
  recentRuns: (from: number, to: number): Promise<RecentRuns[]> => recentRuns(database, from, to),
  /** The calls that failed most often in that time, each with one of its messages. */
  failingCalls: (from: number, to: number, limit: number): Promise<FailingCall[]> =>
    failingCalls(database, from, to, limit),
});

async function recentRuns({ kysely }: Database, from: number, to: number): Promise<RecentRuns[]> {
  const { rows } = await sql<RecentRuns>`
    select names.name as result, count(*) as count,
      ${average("total")} as latency, max(total) as worst_latency,
      ${average("uncertainty")} as uncertainty,
      ${average("case when started = 1 then time - due_time end")} as lateness,
      max(case when started = 1 then time - due_time end) as worst_lateness
    from results join names on names.id = results.result
    where ${idsBetween(from - LONGEST_DELAY_MS, to)} and due_time >= ${from} and due_time < ${to}
    group by names.name order by names.name`.execute(kysely);
  return rows;
}

/** An average, as a number in both databases. */
const average = (column: string) => sql.raw(`cast(avg(${column}) as double precision)`);

const FAILED: readonly ResultCode[] = ["HTTP_SERVER_ERROR", "CONNECTION_ERROR"];

async function failingCalls(
  database: Database,
  from: number,
  to: number,
  limit: number,
): Promise<FailingCall[]> {
  const failed = FAILED.map((code) => sql`${selectNumber(database, code)}`);
  const { rows } = await sql<FailingCall>`
    select calls.name as call_id, locations.name as location_id, codes.name as result,
      coalesce(${textAt(database, "documents.document", ["meta", "name"])}, '') as name, failures.message, failures.count
    from (
      select call, location, result, min(message) as message, count(*) as count from results
      where ${idsBetween(from - LONGEST_DELAY_MS, to)} and due_time >= ${from}
        and due_time < ${to} and result in (${sql.join(failed)})
      group by call, location, result
      order by count(*) desc, call limit ${limit}
    ) as failures
    join names as calls on calls.id = failures.call
    join names as locations on locations.id = failures.location
    join names as codes on codes.id = failures.result
    left join documents on documents.id = calls.name
    order by failures.count desc, calls.name`.execute(database.kysely);
  return rows;
}
