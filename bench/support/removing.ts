// Removes expired results while a scheduler beats in the same thread, in its own process on
// the measured core. Its argument is the store's location as JSON. Each message asks for a run:
// either for a number of milliseconds without removing, or until everything expired is removed.
import { once } from "node:events";
import { removeExpired } from "../../src/aggregator/retention.ts";
import { createInProcessBus } from "../../src/bus/in-process.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createCron } from "../../src/runtime/cron.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { Registry } from "../../src/runtime/metrics.ts";
import { createBeat } from "../../src/scheduler/beat.ts";
import { createSchedulerMetrics } from "../../src/scheduler/metrics.ts";
import type { Store } from "../../src/store/store.ts";
import { sleep, startAnswering } from "./children.ts";
import { openBenchStore } from "./database.ts";
import type { Location } from "./database.ts";
import { createWaitingRuns } from "../../src/dispatch/waiting-runs.ts";

export interface Beats {
  readonly ms: number;
  readonly removed: number;
  /** Milliseconds after its second, for each beat. */
  readonly late: readonly number[];
}

/**
 * Each order is how many milliseconds to beat without removing, or 0: until everything that has
 * expired is removed.
 */
export const startRemover = (location: Location) =>
  startAnswering<Beats>(import.meta.filename, JSON.stringify(location));

if (import.meta.main) {
  const store = await openBenchStore(JSON.parse(process.argv[2] ?? "") as Location);
  for (;;) {
    const [ms] = (await once(process, "message")) as [number];
    process.send?.(
      await beatWhile(store, () => (ms > 0 ? sleep(ms).then(() => 0) : removeAll(store))),
    );
  }
}

/** Runs the scheduler's own beat on the one connection that the removal also uses. */
async function beatWhile(store: Store, work: () => Promise<number>): Promise<Beats> {
  const log = createLogger("silent");
  const bus = createInProcessBus({ log, clock: systemClock });
  const metrics = createSchedulerMetrics(new Registry());
  const dispatcher = { store, bus, waiting: createWaitingRuns(64) };
  const beat = createBeat({
    store,
    clock: systemClock,
    dispatcher,
    log,
    metrics,
    holder: "bench",
  });
  const late: number[] = [];
  const cron = createCron({
    name: "beat",
    expression: "* * * * * *",
    log,
    async work(signal) {
      late.push(Date.now() % 1000);
      await beat.run(signal);
    },
  });
  await cron.start();
  const began = performance.now();
  const removed = await work();
  const ms = performance.now() - began;
  await cron.stop();
  return { ms, removed, late };
}

async function removeAll(store: Store): Promise<number> {
  let removed = 0;
  await removeExpired({
    store,
    clock: systemClock,
    days: { details: 1, raw: 1, hours: 1, audit: 1 },
    holder: "bench",
    signal: new AbortController().signal,
    onRemoved: ({ rows }) => (removed += rows),
  });
  return removed;
}
