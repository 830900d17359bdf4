// The one way from pending runs to ticks on the bus, for the scheduler's beat and for "run now".
import { TooLargeError } from "../bus/bus.ts";
import type { Bus } from "../bus/bus.ts";
import { LONGEST_CALL_MS, workflowLimitMs } from "../model/time-limits.ts";
import { expiryOf } from "../model/slots.ts";
import { awaitsRenewal } from "../model/token-renewal.ts";
import { groupTicks } from "../model/tick.ts";
import type { Tick } from "../model/tick.ts";
import type { PendingRun, UnreportedOutcome } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { buildTicks, unableToRun } from "./build-tick.ts";
import type { WaitingRuns } from "./waiting-runs.ts";

/**
 * Ticks are published at most this long before they are due: longer than another scheduler needs to
 * take over, yet short, since agents hold them in memory.
 */
export const PUBLISH_AHEAD_MS = 15_000;

export interface Dispatcher {
  readonly store: Store;
  readonly bus: Bus;
  readonly waiting: WaitingRuns;
}

/**
 * Publishes the ticks of pending runs and marks them published. Leaves to a later beat the runs due
 * `PUBLISH_AHEAD_MS` after `now` or later, and those whose token is about to be renewed. Records
 * runs with nothing to run, and those refused by `waiting`, as UNABLE_TO_RUN. Rejects with
 * `unavailable` if the bus did not accept every tick; the others stay unpublished.
 */
export async function dispatch(
  dispatcher: Dispatcher,
  pending: readonly PendingRun[],
  now: number,
): Promise<void> {
  const { store, waiting } = dispatcher;
  const runs = pending.filter(({ due_time }) => due_time < now + PUBLISH_AHEAD_MS);
  const { ticks, unable } = await buildAdmitted(dispatcher, runs, now);
  if (unable.length > 0) await store.results.recordUnreported(unable);
  const { ready = [], held = [] } = Object.groupBy(ticks, (tick) =>
    awaitsToken(tick, now) ? "held" : "ready",
  );
  await store.pendingRuns.markHeldBack(manualOnes(held));
  await plan(store, runs, ready);
  const tooLargeIds = await publish(dispatcher, ready);
  const tooLarge = runs.filter(({ result_id }) => tooLargeIds.has(result_id));
  for (const run of tooLarge) waiting.forget(run);
  if (tooLarge.length > 0) await store.results.recordUnreported(tooLarge.map(tooLargeToRun));
}

/** Builds the ticks of the runs that their owners have room for. */
async function buildAdmitted(
  { store, waiting }: Dispatcher,
  runs: readonly PendingRun[],
  now: number,
): Promise<{ readonly ticks: readonly Tick[]; readonly unable: readonly UnreportedOutcome[] }> {
  const refused = await waiting.refused(store, runs, now);
  const open = runs.filter((run) => !refused.has(run));
  const { ticks, unable } = await buildTicks(store, open, waiting);
  const turnedAway = [...refused].map((run) => unableToRun(run, waiting.refusal));
  return { ticks, unable: [...unable, ...turnedAway] };
}

/** Only these are marked: the beat looks at scheduled runs anyway. */
const manualOnes = (ticks: readonly Tick[]): string[] =>
  ticks.filter(({ trigger }) => trigger === "MANUAL").map(({ result_id }) => result_id);

const awaitsToken = (tick: Tick, now: number): boolean =>
  tick.calls.some(
    ({ authorization }) => authorization?.token && awaitsRenewal(authorization.token, tick, now),
  );

const tooLargeToRun = (run: PendingRun): UnreportedOutcome =>
  unableToRun(
    run,
    `the ${run.target_kind} is too large to be sent to an agent; its bodies, headers and parameters count`,
  );

/** Saves plans before runs are published: the ledger accepts reports of planned calls only. */
async function plan(
  store: Store,
  runs: readonly PendingRun[],
  ticks: readonly Tick[],
): Promise<void> {
  const unplanned = new Set(
    runs.filter(({ call_ids }) => call_ids === null).map(({ result_id }) => result_id),
  );
  const plans = ticks
    .filter(({ workflow, result_id }) => workflow && unplanned.has(result_id))
    .map((tick) => ({
      result_id: tick.result_id,
      call_ids: tick.calls.map(({ call_id }) => call_id),
      expires_at: expiryOf(tick.latest_start, longestMs(tick)),
    }));
  if (plans.length > 0) await store.pendingRuns.plan(plans);
}

const longestMs = ({ calls, workflow }: Tick): number =>
  workflowLimitMs(
    calls.map(() => LONGEST_CALL_MS),
    workflow?.between_calls_delay ?? 0,
  );

/** Returns the ids of the runs whose ticks are too large for the bus. */
async function publish({ store, bus }: Dispatcher, ticks: readonly Tick[]): Promise<Set<string>> {
  const tooLarge = new Set<string>();
  const published: string[] = [];
  const outcomes = await Promise.allSettled(
    groupTicks(ticks).map(async (group) => {
      for (const id of await publishGroup(bus, group)) tooLarge.add(id);
      published.push(...group.map((tick) => tick.result_id).filter((id) => !tooLarge.has(id)));
    }),
  );
  await store.pendingRuns.markPublished(published);
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  return tooLarge;
}

async function publishGroup(bus: Bus, group: readonly Tick[]): Promise<readonly string[]> {
  try {
    await bus.publishTicks(group);
    return [];
  } catch (cause) {
    if (cause instanceof TooLargeError) return cause.runIds;
    throw cause;
  }
}
