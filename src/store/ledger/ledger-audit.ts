// Audits the ledger: each run due in the last hours must have either an outcome or a pending run.
import { sql } from "kysely";
import { SIMULATION } from "../../model/result.ts";
import { dueKeys, MINUTE_MS } from "../../model/slots.ts";
import { encodeTime, TIME_DIGITS } from "../../runtime/ids.ts";
import type { Database } from "../database.ts";
import { countAll, textAt } from "../database.ts";
import type { PendingAt } from "../records.ts";
import { idsBetween } from "../result-days.ts";
import { selectNumber } from "../names.ts";
import { FOR_EVER } from "./schedules.ts";

export interface SlotAudit {
  /** Runs that are due in the slot, by the schedules. */
  readonly due: number;
  /** Of these, those with neither an outcome nor a pending run. */
  readonly missing: number;
  /** Of these, those with both. */
  readonly twice: number;
  /** One of the deployments that miss a run; null if none does. */
  readonly deployment_id: string | null;
}

export const createLedgerAudit = (database: Database) => ({
  /** Runs that are due in a minute, on average. */
  runsPerMinute: () => runsPerMinute(database),
  auditSlot: (slot: number): Promise<SlotAudit> => auditSlot(database, slot),
  /** Returns the slots that the scheduler has passed without opening them in full. */
  async openingSlots(): Promise<number[]> {
    const rows = database.kysely.selectFrom("opening_slots").select("slot").orderBy("slot");
    return (await rows.execute()).map(({ slot }) => slot);
  },
  /**
   * Counts by message the MISSED outcomes of runs triggered since `from` and before `to`, except
   * simulated ones.
   */
  missed: (from: number, to: number): Promise<Map<string, number>> =>
    missedBetween(database, from, to),
  /** Counts by location the runs without an outcome that were due before the instant. */
  pending: (dueBefore: number): Promise<PendingAt[]> =>
    database.kysely
      .selectFrom("pending_runs")
      .select((eb) => [
        "location_id",
        eb.fn.countAll<number>().as("runs"),
        eb.fn.min("due_time").as("oldest_due"),
      ])
      .where("due_time", "<", dueBefore)
      .groupBy("location_id")
      .orderBy("location_id")
      .execute(),
  /** Counts the pending runs that should have been recorded as MISSED before the instant. */
  countExpired: (before: number): Promise<number> =>
    countAll(database.kysely.selectFrom("pending_runs").where("expires_at", "<", before)),
});

async function runsPerMinute({ kysely }: Database): Promise<number> {
  const rows = await kysely
    .selectFrom("schedules")
    .select((eb) => ["frequency", eb.fn.countAll<number>().as("count")])
    .where("active_until", "=", FOR_EVER)
    .groupBy("frequency")
    .execute();
  return rows.reduce((sum, { frequency, count }) => sum + count / frequency, 0);
}

async function auditSlot(database: Database, slot: number): Promise<SlotAudit> {
  const { kysely } = database;
  const longest = await kysely
    .selectFrom("schedules")
    .select((eb) => eb.fn.max("run_delay").as("delay"))
    .executeTakeFirst();
  const minutes = Math.floor((longest?.delay ?? 0) / 60);
  const found = await sql<SlotAudit>`
    select count(*) as due,
      count(*) filter (where ${IS_MISSING}) as missing,
      count(*) filter (where ${IS_TWICE}) as twice,
      min(case when ${IS_MISSING} then deployment_id end) as deployment_id
    from (
      select runs.deployment_id, results.id as result, workflow_results.id as workflow_result,
        pending_runs.result_id as pending
      from (${dueIn(slot, minutes)}) as runs
      left join pending_runs on pending_runs.result_id = runs.id
      left join workflow_results on workflow_results.id = runs.id
      left join results on results.id = runs.id
        and ${idsBetween(slot - (minutes + 1) * MINUTE_MS, slot + 1)}
    ) as found`.execute(kysely);
  return found.rows[0] as SlotAudit;
}

const IS_MISSING = sql`pending is null and result is null and workflow_result is null`;
const IS_TWICE = sql`pending is not null and (result is not null or workflow_result is not null)`;

/** The ids of the runs due in the slot, except by schedules that the beat has not seen yet. */
const dueIn = (slot: number, minutes: number) => sql`
  select deployment_id, substr(
      cast(${timesOfIds(slot, minutes)} as text),
      (run_delay / 60) * ${sql.lit(TIME_DIGITS)} + 1, ${sql.lit(TIME_DIGITS)}
    ) || substr(deployment_id, ${sql.lit(TIME_DIGITS + 1)}) as id
  from (
    select deployment_id, run_delay, active_from, active_until,
      cast(${slot} as bigint) - run_delay / 60 * ${sql.lit(MINUTE_MS)} as trigger_time
    from schedules
    where slot_key in (${sql.join(dueKeys(slot))})
      and not exists (select 1 from new_schedules
        where new_schedules.deployment_id = schedules.deployment_id
          and new_schedules.active_from = schedules.active_from)
  ) as due
  where active_from <= trigger_time and active_until > trigger_time`;

const timesOfIds = (slot: number, minutes: number): string =>
  Array.from({ length: minutes + 1 }, (_, n) => encodeTime(slot - n * MINUTE_MS)).join("");

async function missedBetween(
  database: Database,
  from: number,
  to: number,
): Promise<Map<string, number>> {
  const { kysely } = database;
  const ofCalls = kysely
    .selectFrom("results")
    .select((eb) => ["message", eb.fn.countAll<number>().as("count")])
    .where(idsBetween(from, to))
    .where("result", "=", selectNumber(database, "MISSED"))
    .where((eb) =>
      eb.or([eb("agent", "is", null), eb("agent", "not in", selectNumber(database, SIMULATION))]),
    )
    .groupBy("message");
  const messages = kysely
    .selectFrom("workflow_results")
    .select(textAt(database, "document", ["meta", "message"]).as("message"))
    .where("id", ">=", encodeTime(from))
    .where("id", "<", encodeTime(to))
    .where("result", "=", "MISSED");
  const ofWorkflows = kysely
    .selectFrom(messages.as("messages"))
    .select((eb) => ["message", eb.fn.countAll<number>().as("count")])
    .groupBy("message");
  const found = new Map<string, number>();
  for (const { message: text, count } of [
    ...(await ofCalls.execute()),
    ...(await ofWorkflows.execute()),
  ])
    found.set(text ?? "", (found.get(text ?? "") ?? 0) + count);
  return found;
}
