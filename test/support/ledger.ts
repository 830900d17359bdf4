// Checks a store's ledger: one row for each due slot, and statistics that match the rows.
import { expect } from "vitest";
import { PERIOD_KINDS, periodStart } from "../../src/model/periods.ts";
import type { PeriodKind } from "../../src/model/periods.ts";
import { countedResult, summarizeResults } from "../../src/model/counted-result.ts";
import type { Result } from "../../src/model/result.ts";
import { dueRun, nextTrigger, slotOf } from "../../src/model/slots.ts";
import { percentiles } from "../../src/model/summary.ts";
import type { Summary } from "../../src/model/summary.ts";
import type { PendingRun, Schedule } from "../../src/store/records.ts";
import type { Store } from "../../src/store/store.ts";

const ALL = { after: "", limit: 100_000 };

export interface Ledger {
  readonly results: readonly Result[];
  readonly pending: readonly PendingRun[];
}

/** Reads the ledger of the schedules' calls. */
export async function readLedger(store: Store, schedules: readonly Schedule[]): Promise<Ledger> {
  const calls = schedules.map(({ target_id }) => target_id);
  return {
    pending: (
      await Promise.all(calls.map((call) => store.pendingRuns.listOfTarget(call, ALL)))
    ).flat(),
    results: (await Promise.all(calls.map((call) => store.results.listOfCall(call, ALL)))).flat(),
  };
}

/** Expects one row, an outcome or a pending run, for each due slot up to `cursor`. */
export function expectOneRowForEachSlot(
  { results, pending }: Ledger,
  schedules: readonly Schedule[],
  cursor: number,
): void {
  const rows = [
    ...results.map(({ meta }) => `${meta.deployment_id} ${meta.due_time}`),
    ...pending.map((run) => `${run.deployment_id} ${instant(run.due_time)}`),
  ];
  const due = schedules.flatMap((schedule) =>
    dueTimes(schedule, cursor).map((time) => `${schedule.deployment_id} ${instant(time)}`),
  );
  expect(rows.toSorted()).toEqual(due.toSorted());
}

const instant = (ms: number): string => new Date(ms).toISOString().replace("Z", "000Z");

function dueTimes(schedule: Schedule, cursor: number): number[] {
  const times: number[] = [];
  for (
    let trigger = nextTrigger(schedule.frequency, schedule.active_from - 1);
    ;
    trigger = nextTrigger(schedule.frequency, trigger)
  ) {
    const slot = slotOf(trigger + schedule.run_delay * 1000);
    if (slot > cursor) return times;
    times.push(dueRun(schedule, slot).due_time);
  }
}

/** Expects the stored statistics of every period to equal those of its raw rows. */
export async function expectStatisticsOfRows(store: Store, { results }: Ledger): Promise<void> {
  for (const [call_id, ofCall] of Map.groupBy(results, ({ meta }) => meta.call_id))
    for (const kind of PERIOD_KINDS)
      for (const time of new Set(
        ofCall.map((result) => periodStart(kind, countedResult(result).time)),
      ))
        await expectStatisticsOfPeriod(store, call_id, kind, time);
}

async function expectStatisticsOfPeriod(
  store: Store,
  call_id: string,
  kind: PeriodKind,
  time: number,
): Promise<void> {
  const query = { call_id, kind, location_id: null };
  const raw = await store.stats.rawOfPeriod(query, time);
  const stored = await store.stats.period(query, time);
  const recomputed = Map.groupBy(raw, ({ result }) => result);
  expect([...stored.keys()].toSorted()).toEqual([...recomputed.keys()].toSorted());
  for (const [code, rows] of recomputed)
    expect(comparable(stored.get(code) as Summary), `${kind} of call ${call_id}, ${code}`).toEqual(
      approximately(comparable(summarizeResults(rows))),
    );
}

const comparable = (summary: Summary) => ({
  ...summary,
  percentiles: percentiles(summary, [0, 25, 50, 75, 90, 99, 100]),
});

/**
 * The last digits of moments depend on the order of addition; counts, buckets and phases are exact.
 */
function approximately(value: ReturnType<typeof comparable>) {
  const near = (n: number): unknown =>
    expect.closeTo(n, 6 - Math.ceil(Math.log10(Math.max(1, Math.abs(n)))));
  return {
    ...value,
    mean: near(value.mean),
    m2: near(value.m2),
    m3: near(value.m3),
  };
}
