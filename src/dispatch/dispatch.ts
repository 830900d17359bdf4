// The one way from ordered runs to ticks on the bus: of the scheduler's beat and of the API's "run
// now".
import { TooLargeError } from "../bus/bus.ts";
import type { Bus } from "../bus/bus.ts";
import { LONGEST_CALL_MS, workflowLimitMs } from "../model/workflow-result.ts";
import { awaitsRenewal } from "../model/token-renewal.ts";
import { groupTicks } from "../model/tick.ts";
import type { Tick } from "../model/tick.ts";
import type { MissedRun, PendingRun, RunPlan } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { buildTick } from "./build-tick.ts";
import { withCredentials } from "./credentials.ts";
import { expiryOf } from "./pending-run.ts";
import type { TickSealer } from "./seal-tick.ts";
import { loadTargets } from "./targets.ts";

/**
 * A tick waits with the bus and the agent for at most so long; a run that is further ahead stays in
 * the store.
 */
export const PUBLISH_AHEAD_MS = 90_000;

export interface Dispatcher {
  /**
   * Publishes the ticks of pending runs and marks them published. Runs more than
   * `PUBLISH_AHEAD_MS` after `now`, and those whose token is about to be renewed, are left for a
   * later beat. A run with nothing to run is recorded as UNABLE_TO_RUN. Rejects with `unavailable`
   * when the bus did not take them all; those stay unpublished.
   */
  dispatch(runs: readonly PendingRun[], now: number): Promise<void>;
}

interface Planned {
  readonly run: PendingRun;
  readonly tick: Tick;
}

export function createDispatcher({
  store,
  bus,
  sealTick = async (tick) => tick,
}: {
  readonly store: Store;
  readonly bus: Bus;
  /** Needed where the bus leaves this process. */
  readonly sealTick?: TickSealer;
}): Dispatcher {
  return {
    async dispatch(pending, now) {
      const runs = pending.filter(({ due_time }) => due_time < now + PUBLISH_AHEAD_MS);
      const targets = await loadTargets(store, runs);
      const built: Planned[] = [];
      const missed: MissedRun[] = [];
      for (const run of runs) {
        const tick = buildTick(run, targets);
        if (typeof tick !== "string") built.push({ run, tick });
        else missed.push({ run, result: "UNABLE_TO_RUN", message: tick });
      }
      if (missed.length > 0) await store.results.recordMissed(missed);
      const complete = await withCredentials(
        store.documents,
        built.map(({ tick }) => tick),
        targets.calls,
      );
      const planned = built.map(({ run }, n) => ({
        run,
        tick: complete[n] as Tick,
      }));
      const { ready = [], held = [] } = Object.groupBy(planned, ({ tick }) =>
        awaitsToken(tick, now) ? "held" : "ready",
      );
      await store.pendingRuns.markHeldBack(manualOnes(held));
      await plan(store, ready);
      const sealed = await Promise.all(ready.map(({ tick }) => sealTick(tick)));
      const refused = await publish({ store, bus }, sealed);
      const tooLarge = runs.filter(({ result_id }) => refused.has(result_id));
      if (tooLarge.length > 0) await store.results.recordMissed(tooLarge.map(tooLargeToRun));
    },
  };
}

/** The others are the beat's anyway. */
const manualOnes = (planned: readonly Planned[]): string[] =>
  planned.filter(({ run }) => run.trigger === "MANUAL").map(({ run }) => run.result_id);

const awaitsToken = (tick: Tick, now: number): boolean =>
  tick.calls.some(
    ({ authorization }) => authorization?.token && awaitsRenewal(authorization.token, tick, now),
  );

const tooLargeToRun = (run: PendingRun): MissedRun => ({
  run,
  result: "UNABLE_TO_RUN",
  message: `the ${run.target_kind} is too large to be sent to an agent; its bodies, headers and parameters count`,
});

/** Before it is published: a report can only be of what was planned. */
async function plan(store: Store, planned: readonly Planned[]): Promise<void> {
  const plans = planned.flatMap(({ run, tick }): RunPlan[] =>
    tick.workflow && run.call_ids === null
      ? [
          {
            result_id: run.result_id,
            call_ids: tick.calls.map(({ call_id }) => call_id),
            expires_at: expiryOf(run.latest_start, longestMs(tick)),
          },
        ]
      : [],
  );
  if (plans.length > 0) await store.pendingRuns.plan(plans);
}

const longestMs = ({ calls, workflow }: Tick): number =>
  workflowLimitMs(
    calls.map(() => LONGEST_CALL_MS),
    workflow?.between_calls_delay ?? 0,
  );

/** Resolves with the ids of runs whose ticks are too large for the bus. */
async function publish(
  { store, bus }: { readonly store: Store; readonly bus: Bus },
  ticks: readonly Tick[],
): Promise<Set<string>> {
  const refused = new Set<string>();
  const outcomes = await Promise.allSettled(
    groupTicks(ticks).map(async (group) => {
      for (const id of await publishGroup(bus, group)) refused.add(id);
      const ids = group.map((tick) => tick.result_id);
      await store.pendingRuns.markPublished(ids.filter((id) => !refused.has(id)));
    }),
  );
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  return refused;
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
