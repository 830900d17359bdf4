// Opens slots: turns the schedules that are due in a slot into pending runs, page by page, inside
// the database.
import { sql } from "kysely";
import { chunksOf } from "../../model/chunks.ts";
import {
  dueKeys,
  expiryOf,
  MAX_DELAY_SECONDS,
  MAX_START_DELAY_MS,
  MINUTE_MS,
  nextTrigger,
} from "../../model/slots.ts";
import { encodeTime, scheduledRunId, TIME_DIGITS } from "../../runtime/ids.ts";
import type { Database } from "../database.ts";
import { countAll, isAmong, ROWS_AT_ONCE } from "../database.ts";
import type { Opening, OpeningPage, PendingRun, Position, StoredSchedule } from "../records.ts";
import { toPendingRun } from "./pending-rows.ts";
import type { PendingRow } from "./pending-rows.ts";

export interface OpeningFilter {
  /** True: only those of late runs; false: only the others. */
  readonly late: boolean;
  readonly limit?: number;
}

export function createSlotStore(database: Database) {
  const { kysely } = database;
  return {
    async add(openings: readonly Opening[]): Promise<void> {
      const rows = openings.map(({ late, ...slot }) => ({
        ...slot,
        late: Number(late),
        slot_key: 0,
        ...START,
      }));
      for (const chunk of chunksOf(rows, ROWS_AT_ONCE))
        await kysely
          .insertInto("opening_slots")
          .values(chunk)
          .onConflict((conflict) => conflict.doNothing())
          .execute();
    },
    /** Slots that are not fully open, newest first. After weeks of outage there are many. */
    async list({ late, limit }: OpeningFilter): Promise<Opening[]> {
      const all = kysely.selectFrom("opening_slots").where("late", "=", Number(late));
      const rows = limit === undefined ? all : all.limit(limit);
      const found = await rows.select(["slot", "opened"]).orderBy("slot", "desc").execute();
      return found.map((row) => ({ ...row, late }));
    },
    /** How many slots of late runs are not fully open. */
    countLate: (): Promise<number> =>
      countAll(kysely.selectFrom("opening_slots").where("late", "=", 1)),
    /** The oldest slot that is not fully open. */
    async oldest(): Promise<number | undefined> {
      const slots = kysely.selectFrom("opening_slots").select("slot").orderBy("slot").limit(1);
      return (await slots.executeTakeFirst())?.slot;
    },
    /**
     * Moves on to the next schedules of the slot, at most `limit` deployments, and locks the
     * opening until the end of the transaction. Undefined after the last page.
     */
    nextPage: (opening: Opening, limit: number): Promise<OpeningPage | undefined> =>
      nextPage(database, opening, limit),
    /** Orders the page's runs. Returns how many are new. */
    async order(page: OpeningPage): Promise<number> {
      const { numAffectedRows = 0n } = await sql`
        insert into pending_runs (${sql.join(COLUMNS.map((column) => sql.ref(column)))})
        ${runsOf(page)}
        on conflict (result_id) do nothing`.execute(kysely);
      return Number(numAffectedRows);
    },
    withdrawReplaced: (schedule: StoredSchedule, newest: number, dueAfter: number) =>
      withdrawReplaced(database, schedule, newest, dueAfter),
    /** The page's runs. */
    async listRuns(page: OpeningPage): Promise<PendingRun[]> {
      const runs = sql<PendingRow>`${runsOf(page)}`;
      return (await runs.execute(kysely)).rows.map(toPendingRun);
    },
  };
}

/**
 * Takes back the unpublished runs due after the instant that an earlier schedule of the deployment
 * ordered for triggers of this one, up to the slot `newest`, which was opened before this one was
 * committed.
 */
async function withdrawReplaced(
  database: Database,
  schedule: StoredSchedule,
  newest: number,
  dueAfter: number,
): Promise<void> {
  const { deployment_id, active_from, active_until, frequency, run_delay } = schedule;
  const earliest = Math.max(active_from - 1, dueAfter - MAX_DELAY_SECONDS * 1000);
  const ids: string[] = [];
  for (let trigger = nextTrigger(1, earliest); trigger <= newest; trigger += MINUTE_MS)
    if (trigger < active_until) ids.push(scheduledRunId(trigger, deployment_id));
  if (ids.length === 0) return;
  await database.kysely
    .deleteFrom("pending_runs")
    .where(isAmong(database, "result_id", ids))
    .where("published", "=", 0)
    .where("due_time", ">", dueAfter)
    .where((eb) =>
      eb.or([
        eb("target_id", "!=", schedule.target_id),
        eb("location_id", "!=", schedule.location_id),
        eb("between_calls_delay", "!=", schedule.between_calls_delay),
        sql<boolean>`due_time - trigger_time <> ${sql.lit(run_delay * 1000)}`,
        sql<boolean>`trigger_time % ${sql.lit(frequency * MINUTE_MS)} <> 0`,
      ]),
    )
    .execute();
}

/** Before every schedule. */
const START: Position = { run_delay: -1, deployment_id: "" };

const positionOf = ({ run_delay, deployment_id }: Position): Position => ({
  run_delay,
  deployment_id,
});

async function nextPage(
  { kysely, rowLocks }: Database,
  opening: Opening,
  limit: number,
): Promise<OpeningPage | undefined> {
  const key = { slot: opening.slot, late: Number(opening.late) };
  const rows = kysely
    .selectFrom("opening_slots")
    .selectAll()
    .where((eb) => eb.and(key));
  const progress = await (rowLocks ? rows.forUpdate() : rows).executeTakeFirst();
  if (!progress) return undefined;
  for (const slot_key of dueKeys(opening.slot).filter((each) => each >= progress.slot_key)) {
    const after = slot_key === progress.slot_key ? positionOf(progress) : START;
    // In order of due time: neighbours are published together.
    const page = kysely
      .selectFrom("schedules")
      .select(["run_delay", "deployment_id"])
      .where("slot_key", "=", slot_key)
      .where(
        sql<boolean>`(run_delay, deployment_id) > (${after.run_delay}, ${after.deployment_id})`,
      )
      .orderBy("run_delay")
      .orderBy("deployment_id")
      .limit(limit);
    const until = await kysely
      .selectFrom(page.as("page"))
      .selectAll()
      .orderBy("run_delay", "desc")
      .orderBy("deployment_id", "desc")
      .limit(1)
      .executeTakeFirst();
    if (!until) continue;
    await kysely
      .updateTable("opening_slots")
      .set({ slot_key, ...until })
      .where((eb) => eb.and(key))
      .execute();
    return { ...opening, slot_key, after, until };
  }
  await kysely
    .deleteFrom("opening_slots")
    .where((eb) => eb.and(key))
    .execute();
  return undefined;
}

const COLUMNS = [
  "result_id",
  "trigger",
  "deployment_id",
  "target_id",
  "target_kind",
  "between_calls_delay",
  "call_ids",
  "location_id",
  "owner",
  "owner_org",
  "context",
  "trigger_time",
  "due_time",
  "latest_start",
  "expires_at",
  "published",
  "held_back",
] as const satisfies readonly (keyof PendingRow)[];

const minuteOf = (runDelay: number): number => Math.max(0, Math.floor(runDelay / 60));

/**
 * The times that the ids of the page's runs begin with, one for each minute of their delays:
 * encoding them in SQL would double the time of the insert.
 */
const timesOfIds = ({ slot, after, until }: OpeningPage): string => {
  const first = minuteOf(after.run_delay);
  return Array.from({ length: minuteOf(until.run_delay) - first + 1 }, (_, n) =>
    encodeTime(slot - (first + n) * MINUTE_MS),
  ).join("");
};

/** `startWindowMs` in SQL. */
const START_WINDOW = `case when frequency * ${MINUTE_MS / 2} < ${MAX_START_DELAY_MS}
  then frequency * ${MINUTE_MS / 2} else ${MAX_START_DELAY_MS} end`;

/** Selects the page's runs, the same as `scheduledRun` makes. */
const runsOf = (page: OpeningPage) => {
  const { slot, opened, late, slot_key, after, until } = page;
  return sql`
  select substr(
      cast(${timesOfIds(page)} as text),
      (run_delay / 60 - ${minuteOf(after.run_delay)}) * ${sql.lit(TIME_DIGITS)} + 1,
      ${sql.lit(TIME_DIGITS)}
    ) || substr(deployment_id, ${sql.lit(TIME_DIGITS + 1)}) as result_id,
    'SCHEDULE' as trigger, deployment_id, target_id, target_kind, between_calls_delay,
    null as call_ids, location_id, owner, owner_org, '{}' as context,
    trigger_time, due_time, latest_start,
    latest_start + ${sql.lit(expiryOf(0))} as expires_at, 0 as published, 0 as held_back
  from (
    select *, due_time + ${sql.raw(START_WINDOW)} as latest_start
    from (
      select *, trigger_time + run_delay * 1000 as due_time
      from (
        select *, cast(${slot} as bigint) - run_delay / 60 * ${sql.lit(MINUTE_MS)} as trigger_time
        from schedules
        where slot_key = ${slot_key}
          and (run_delay, deployment_id) > (${after.run_delay}, ${after.deployment_id})
          and (run_delay, deployment_id) <= (${until.run_delay}, ${until.deployment_id})
      ) as triggered
      where active_from <= trigger_time and active_until > trigger_time
    ) as due
  ) as runs
  where latest_start ${sql.raw(late ? "<" : ">=")} ${opened}`;
};
