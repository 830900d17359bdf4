// The one way from ordered runs to ticks on the bus: of the scheduler's beat and of the API's "run now".
import type { Bus } from "../bus/bus.ts";
import type { MissedRun } from "../store/ports/result-store.ts";
import type { PendingRun } from "../store/ports/run-store.ts";
import type { Store } from "../store/store.ts";
import { groupTicks } from "../model/tick.ts";
import { buildTick } from "./build-tick.ts";

/** A tick waits with the bus and the agent for at most so long; a run that is further ahead stays in the store. */
export const PUBLISH_AHEAD_MS = 90_000;

export interface Dispatcher {
  /**
   * Publishes the ticks of runs that are pending in the store, and marks them published; runs further ahead than
   * `PUBLISH_AHEAD_MS` are left for a later beat. A run whose target is gone is recorded as such. Rejects with `unavailable` when the bus did not take them all; those stay unpublished.
   */
  dispatch(runs: readonly PendingRun[]): Promise<void>;
}

export function createDispatcher({
  store,
  bus,
}: {
  readonly store: Store;
  readonly bus: Bus;
}): Dispatcher {
  return {
    async dispatch(pending) {
      const soon = (await store.now()) + PUBLISH_AHEAD_MS;
      const runs = pending.filter(({ due_time }) => due_time < soon);
      const calls = await store.documents.getMany("call", [
        ...new Set(runs.map((run) => run.target_id)),
      ]);
      const targets = new Map(calls.map((call) => [call.id, call]));
      const built = runs.map((run) => ({
        run,
        tick: buildTick(run, targets.get(run.target_id)),
      }));
      const gone = built.flatMap(({ run, tick }): MissedRun[] =>
        tick
          ? []
          : [
              {
                run,
                result: "UNABLE_TO_RUN",
                message: "the call was deleted before its run",
              },
            ],
      );
      if (gone.length > 0) await store.results.recordMissed(gone);
      const ticks = built.flatMap(({ tick }) => tick ?? []);
      const outcomes = await Promise.allSettled(
        groupTicks(ticks).map(async (group) => {
          await bus.publishTicks(group);
          await store.pendingRuns.markPublished(
            group.map((tick) => tick.result_id),
          );
        }),
      );
      for (const outcome of outcomes)
        if (outcome.status === "rejected") throw outcome.reason;
    },
  };
}
