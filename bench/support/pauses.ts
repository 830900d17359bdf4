// The longest pause of a process's event loop, according to its own metrics.
import { LAG_SAMPLED_EVERY_MS } from "../../src/runtime/metrics.ts";
import { sleep } from "./children.ts";
import type { Sonde } from "./sonde.ts";

const POLL_MS = 200;

/** Polls the metric, which holds the longest pause since it was last read. */
export function watchPauses(sonde: Sonde) {
  const read = (): Promise<number> => sonde.metric("nodejs_eventloop_lag_max_seconds");
  let [longest, isOver] = [0, false];
  const reading = (async () => {
    await read(); // discards the pauses of the start
    while (!isOver) {
      await sleep(POLL_MS);
      longest = Math.max(longest, await read());
    }
  })();
  return {
    /**
     * Ends the watch. Returns milliseconds. Each pause is seen from some instant on, so a single one
     * may have been up to `LAG_SAMPLED_EVERY_MS` longer.
     */
    async longest(): Promise<number> {
      isOver = true;
      await reading;
      return Math.max(0, longest * 1000 - LAG_SAMPLED_EVERY_MS);
    },
  };
}
