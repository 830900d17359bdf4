// When deployments are due, as long as each of their schedules held.
import { sql } from "kysely";
import type { Selectable } from "kysely";
import type { TargetKind } from "../model/tick.ts";
import { duePhases, phaseOf } from "../model/slots.ts";
import type { Database } from "./database.ts";
import { inTransaction } from "./database.ts";
import type { Schema } from "./schema.ts";
import type { Schedule, ScheduleStore, StoredSchedule } from "./ports/schedule-store.ts";

const FOR_EVER = Number.MAX_SAFE_INTEGER;
const COLUMNS = [
  "deployment_id",
  "owner",
  "target_id",
  "target_kind",
  "location_id",
  "frequency",
  "run_delay",
  "between_calls_delay",
  "active_from",
  "active_until",
] as const;

// A phase is less than its frequency, and that at most a day of minutes.
const slotKey = (frequency: number, phase: number): number => frequency * 1440 + phase;

export function createScheduleStore(database: Database): ScheduleStore {
  const { kysely } = database;
  return {
    set: (schedule) =>
      inTransaction(database, async ({ kysely: transaction }) => {
        const { deployment_id, active_from } = schedule;
        await transaction
          .deleteFrom("schedules")
          .where("deployment_id", "=", deployment_id)
          .where("active_from", ">=", active_from)
          .execute();
        await transaction
          .updateTable("schedules")
          .set({ active_until: active_from })
          .where("deployment_id", "=", deployment_id)
          .where("active_until", ">", active_from)
          .execute();
        await transaction.insertInto("schedules").values(toRow(schedule)).execute();
      }),
    async remove(deploymentId) {
      await kysely.deleteFrom("schedules").where("deployment_id", "=", deploymentId).execute();
    },
    async due(slot) {
      const trigger = sql<number>`cast(${slot} as bigint) - (run_delay / 60) * 60000`;
      const rows = await kysely
        .selectFrom("schedules")
        .select(COLUMNS)
        .where(
          "slot_key",
          "in",
          duePhases(slot).map(({ frequency, phase }) => slotKey(frequency, phase)),
        )
        .where((eb) => eb("active_from", "<=", trigger))
        .where((eb) => eb("active_until", ">", trigger))
        .orderBy("deployment_id")
        .execute();
      return rows.map(toSchedule);
    },
    async startedSince(since) {
      const rows = await kysely
        .selectFrom("schedules")
        .select(COLUMNS)
        .where("active_from", ">=", since)
        .execute();
      return rows.map(toSchedule);
    },
    async earliestStart() {
      const row = await kysely
        .selectFrom("schedules")
        .select("active_from")
        .orderBy("active_from")
        .limit(1)
        .executeTakeFirst();
      return row?.active_from;
    },
    async prune(before) {
      await kysely.deleteFrom("schedules").where("active_until", "<", before).execute();
    },
  };
}

const toSchedule = (
  row: Pick<Selectable<Schema["schedules"]>, (typeof COLUMNS)[number]>,
): StoredSchedule => ({ ...row, target_kind: row.target_kind as TargetKind });

const toRow = (schedule: Schedule) => ({
  deployment_id: schedule.deployment_id,
  owner: schedule.owner,
  target_id: schedule.target_id,
  target_kind: schedule.target_kind,
  location_id: schedule.location_id,
  frequency: schedule.frequency,
  run_delay: schedule.run_delay,
  between_calls_delay: schedule.between_calls_delay,
  slot_key: slotKey(schedule.frequency, phaseOf(schedule)),
  active_from: schedule.active_from,
  active_until: FOR_EVER,
});
