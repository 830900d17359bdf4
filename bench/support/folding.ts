// Records results in a store as an aggregator does that has a backlog, in its own process on the
// measured core. Its argument is the store's location as JSON. Each message orders a number of
// batches; it answers with their cost.
import { once } from "node:events";
import { MAX_REPORTS_PER_BATCH } from "../../src/bus/bus.ts";
import { MINUTE_MS } from "../../src/model/slots.ts";
import { newId } from "../../src/runtime/ids.ts";
import { startAnswering } from "./children.ts";
import type { Location } from "./database.ts";
import { openBenchStore } from "./database.ts";
import { BATCH, reportOf, runsOf } from "./results.ts";

const CALLS = 1000;

/** Results in a batch. */
export const FOLDED_BATCH = MAX_REPORTS_PER_BATCH;

export interface Folded {
  /** Wall-clock milliseconds of the recording alone; inserting the pending runs is excluded. */
  readonly ms: number;
  /** CPU milliseconds of this process in that time. */
  readonly cpu: number;
}

/** Each order is a number of batches to record. */
export const startFolder = (location: Location) =>
  startAnswering<Folded>(import.meta.filename, JSON.stringify(location));

if (import.meta.main) {
  const store = await openBenchStore(JSON.parse(process.argv[2] ?? "") as Location);
  const callIds = Array.from({ length: CALLS }, () => newId(Date.now()));
  // Results of the present: those of closed weeks also mark reports to be computed again.
  const firstDue = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
  let next = 0;
  for (;;) {
    const [batches] = (await once(process, "message")) as [number];
    let folded: Folded = { ms: 0, cpu: 0 };
    for (let left = batches; left > 0; left -= 1) {
      const minutes = Array.from({ length: FOLDED_BATCH / BATCH }, () =>
        runsOf(callIds, (next += 1), firstDue),
      );
      const runs = minutes.flat();
      await store.pendingRuns.insert(runs);
      const reports = runs.map((run, n) => reportOf(run, n));
      const [started, cpu] = [performance.now(), process.cpuUsage()];
      const { recorded } = await store.results.record(reports);
      const { user, system } = process.cpuUsage(cpu);
      folded = {
        ms: folded.ms + performance.now() - started,
        cpu: folded.cpu + (user + system) / 1000,
      };
      if (recorded !== FOLDED_BATCH)
        throw new Error(`${recorded} of ${FOLDED_BATCH} results were recorded`);
    }
    process.send?.(folded);
  }
}
