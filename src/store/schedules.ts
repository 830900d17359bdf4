// When deployments are due, and which scheduler opens their slots.
import { sql } from "kysely";
import type { Selectable } from "kysely";
import type { TargetKind } from "../model/tick.ts";
import { duePhases, phaseOf } from "../model/slots.ts";
import type { Database } from "./database.ts";
import { inTransaction } from "./database.ts";
import type { Lease, Schedule, StoredSchedule } from "./records.ts";
import type { Schema } from "./schema.ts";

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

export type ScheduleStore = ReturnType<typeof createScheduleStore>;

export function createScheduleStore(database: Database) {
  const rows = () => database.kysely.selectFrom("schedules").select(COLUMNS);
  return {
    /** Holds from its first trigger at or after `active_from`, and ends the schedule before it. */
    set: (schedule: Schedule): Promise<void> =>
      inTransaction(database, (transaction) => replaceSchedule(transaction, schedule)),
    /**
     * Opens no more slots for the deployment, even for a trigger that has passed and whose delay
     * has not. A pending run stays in the ledger and is carried out.
     */
    async remove(deploymentId: string): Promise<void> {
      const { kysely } = database;
      await kysely.deleteFrom("schedules").where("deployment_id", "=", deploymentId).execute();
    },
    /** Schedules with a run due in the slot, whose trigger is within their time. */
    async due(slot: number): Promise<StoredSchedule[]> {
      const trigger = sql<number>`cast(${slot} as bigint) - (run_delay / 60) * 60000`;
      const keys = duePhases(slot).map(({ frequency, phase }) => slotKey(frequency, phase));
      const found = await rows()
        .where("slot_key", "in", keys)
        .where((eb) => eb("active_from", "<=", trigger))
        .where((eb) => eb("active_until", ">", trigger))
        .orderBy("deployment_id")
        .execute();
      return found.map(toSchedule);
    },
    /**
     * Schedules that became active at or after `since`: their first slots may have been opened
     * without them.
     */
    async startedSince(since: number): Promise<StoredSchedule[]> {
      return (await rows().where("active_from", ">=", since).execute()).map(toSchedule);
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

async function replaceSchedule({ kysely }: Database, schedule: Schedule): Promise<void> {
  const { deployment_id, active_from } = schedule;
  await kysely
    .deleteFrom("schedules")
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
}

// A phase is less than its frequency, which is at most the minutes of a day.
const slotKey = (frequency: number, phase: number): number => frequency * 1440 + phase;

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

// A paused holder sees a lease slightly past its own; a clock that was set back, one far past it.
const CLOCK_STEP_TTLS = 6;

export type LeaseStore = ReturnType<typeof createLeaseStore>;

/** Compare-and-set in the database, with a fence against former holders. */
export function createLeaseStore({ kysely }: Database) {
  const ofLease = ({ name, fence }: Lease) =>
    kysely.updateTable("leases").where("name", "=", name).where("fence", "=", fence);
  return {
    /**
     * Takes the lease when it is free, expired, already held by `holder`, or expires much later
     * than `ttlMs` allows (the clock was set back). Undefined while another process holds it.
     */
    async acquire(
      name: string,
      holder: string,
      now: number,
      ttlMs: number,
    ): Promise<Lease | undefined> {
      await kysely
        .insertInto("leases")
        .values({ name, holder: "", fence: 0, expires_at: 0, cursor: null })
        .onConflict((conflict) => conflict.column("name").doNothing())
        .execute();
      return kysely
        .updateTable("leases")
        .set((eb) => ({
          holder,
          expires_at: now + ttlMs,
          fence: eb
            .case()
            .when("holder", "=", holder)
            .then(eb.ref("fence"))
            .else(eb("fence", "+", 1))
            .end(),
        }))
        .where("name", "=", name)
        .where((eb) =>
          eb.or([
            eb("holder", "=", holder),
            eb("expires_at", "<=", now),
            eb("expires_at", ">", now + CLOCK_STEP_TTLS * ttlMs),
          ]),
        )
        .returningAll()
        .executeTakeFirst();
    },
    /** Moves the cursor; false where the lease has another fence or cursor by now. */
    async advance(lease: Lease, cursor: number): Promise<boolean> {
      const { numUpdatedRows } = await ofLease(lease)
        .set({ cursor })
        .where((eb) =>
          lease.cursor === null ? eb("cursor", "is", null) : eb("cursor", "=", lease.cursor),
        )
        .executeTakeFirstOrThrow();
      return numUpdatedRows > 0n;
    },
    /** Frees the lease for the next holder at once. */
    async release(lease: Lease): Promise<void> {
      await ofLease(lease).set({ holder: "", expires_at: 0 }).execute();
    },
  };
}
