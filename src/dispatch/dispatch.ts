// The one way from ordered runs to ticks on the bus: of the scheduler's beat and of the API's "run now".
import type { Bus } from "../bus/bus.ts";
import type { MissedRun, PendingRun, Store } from "../store/store.ts";
import { groupTicks } from "../model/tick.ts";
import { buildTick } from "./build-tick.ts";

export interface Dispatcher {
  /**
   * Publishes the ticks of runs that are pending in the store, and marks them published. A run whose target is gone is
   * recorded as such. Rejects with `unavailable` when the bus did not take them all; those stay unpublished.
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
    async dispatch(runs) {
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
