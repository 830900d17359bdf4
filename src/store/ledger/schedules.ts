// Schedules: when deployments are due.
import { sql } from "kysely";
import type { ExpressionBuilder, RawBuilder, Selectable } from "kysely";
import type { TargetKind } from "../../model/tick.ts";
import { MINUTE_MS, slotKeyOf } from "../../model/slots.ts";
import type { Database } from "../database.ts";
import { inTransaction } from "../database.ts";
import type { Schedule, StoredSchedule } from "../records.ts";
import type { Schema } from "../schema.ts";

/** `active_until` of a deployment's current schedule. */
export const FOR_EVER = Number.MAX_SAFE_INTEGER;
// An SQLite expression is at most 1,000 deep.
const NEW_PAGE = 200;
const COLUMNS = [
  "deployment_id",
  "owner",
  "owner_org",
  "target_id",
  "target_kind",
  "location_id",
  "frequency",
  "run_delay",
  "between_calls_delay",
  "active_from",
  "active_until",
] as const;

export function createScheduleStore(database: Database) {
  const rows = () => database.kysely.selectFrom("schedules").select(COLUMNS);
  return {
    /** Applies from its first trigger at or after `active_from`, and ends the previous schedule. */
    set: (schedule: Schedule): Promise<void> =>
      inTransaction(database, (transaction) => replaceSchedule(transaction, schedule)),
    /** The deployment's current target, and those of its earlier schedules that are kept. */
    async targetsOf(deploymentId: string): Promise<string[]> {
      const kept = database.kysely.selectFrom("schedules").select("target_id").distinct();
      const found = await kept.where("deployment_id", "=", deploymentId).execute();
      return found.map(({ target_id }) => target_id);
    },
    /**
     * Orders no more runs of the deployment that are due after `now`, not even for a past trigger
     * whose delay is not over. Pending runs stay in the ledger.
     */
    remove: (deploymentId: string, now: number): Promise<void> =>
      inTransaction(database, (transaction) => endSchedules(transaction, deploymentId, now)),
    /** Schedules that were stored since `forgetNew`, at most one page. */
    async listNew(): Promise<StoredSchedule[]> {
      const keys = await database.kysely
        .selectFrom("new_schedules")
        .selectAll()
        .limit(NEW_PAGE)
        .execute();
      if (keys.length === 0) return [];
      return (await rows().where(isOneOf(keys)).execute()).map(toSchedule);
    },
    /** `schedules`: from `listNew`. */
    async forgetNew(schedules: readonly Schedule[]): Promise<void> {
      const { kysely } = database;
      await kysely.deleteFrom("new_schedules").where(isOneOf(schedules)).execute();
    },
    /** When the oldest schedule became active; undefined without any. */
    async earliestStart(): Promise<number | undefined> {
      const row = await rows().orderBy("active_from").limit(1).executeTakeFirst();
      return row?.active_from;
    },
    /** Deletes schedules that ended before the instant. */
    async prune(before: number): Promise<void> {
      const { kysely } = database;
      await kysely.deleteFrom("schedules").where("active_until", "<", before).execute();
    },
  };
}

/**
 * A schedule that triggers the pending run. Without the limit, PostgreSQL would join with all
 * schedules instead of looking for those of each run.
 */
export const aScheduleOf = (eb: ExpressionBuilder<Schema, "pending_runs">) =>
  eb
    .selectFrom("schedules")
    .select("schedules.deployment_id")
    .whereRef("schedules.deployment_id", "=", "pending_runs.deployment_id")
    .whereRef("active_from", "<=", "trigger_time")
    .whereRef("active_until", ">", "trigger_time")
    .limit(1);

type Key = Pick<Schedule, "deployment_id" | "active_from">;

const isOneOf = (keys: readonly Key[]): RawBuilder<boolean> => {
  const each = keys.map(
    ({ deployment_id, active_from }) =>
      sql`deployment_id = ${deployment_id} and active_from = ${active_from}`,
  );
  return sql`(${sql.join(each, sql` or `)})`;
};

async function replaceSchedule({ kysely }: Database, schedule: Schedule): Promise<void> {
  const { deployment_id, active_from } = schedule;
  for (const table of ["schedules", "new_schedules"] as const)
    await kysely
      .deleteFrom(table)
      .where("deployment_id", "=", deployment_id)
      .where("active_from", ">=", active_from)
      .execute();
  await kysely
    .updateTable("schedules")
    .set({ active_until: active_from })
    .where("deployment_id", "=", deployment_id)
    .where("active_until", ">", active_from)
    .execute();
  await kysely.insertInto("schedules").values(toRow(schedule)).execute();
  await kysely.insertInto("new_schedules").values({ deployment_id, active_from }).execute();
}

/** Keeps the schedules that were due: an outage may have left their slots to be opened. */
async function endSchedules(
  { kysely }: Database,
  deploymentId: string,
  now: number,
): Promise<void> {
  const lastTrigger = sql<number>`cast(${now} as bigint) - run_delay * 1000`;
  await kysely
    .updateTable("schedules")
    .set({ active_until: sql`${lastTrigger} + 1` })
    .where("deployment_id", "=", deploymentId)
    .where("active_until", ">", lastTrigger)
    .execute();
  const period = sql`(frequency * ${sql.lit(MINUTE_MS)})`;
  await kysely
    .deleteFrom("schedules")
    .where("deployment_id", "=", deploymentId)
    .where(sql<boolean>`(active_until - 1) / ${period} * ${period} < active_from`)
    .execute();
  await kysely
    .deleteFrom("new_schedules")
    .where("deployment_id", "=", deploymentId)
    .where("active_from", "not in", (eb) =>
      eb.selectFrom("schedules").select("active_from").where("deployment_id", "=", deploymentId),
    )
    .execute();
}

const toSchedule = (
  row: Pick<Selectable<Schema["schedules"]>, (typeof COLUMNS)[number]>,
): StoredSchedule => ({ ...row, target_kind: row.target_kind as TargetKind });

const toRow = (schedule: Schedule) => ({
  deployment_id: schedule.deployment_id,
  owner: schedule.owner,
  owner_org: schedule.owner_org,
  target_id: schedule.target_id,
  target_kind: schedule.target_kind,
  location_id: schedule.location_id,
  frequency: schedule.frequency,
  run_delay: schedule.run_delay,
  between_calls_delay: schedule.between_calls_delay,
  slot_key: slotKeyOf(schedule),
  active_from: schedule.active_from,
  active_until: FOR_EVER,
});
