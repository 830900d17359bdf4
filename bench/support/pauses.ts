// The longest pause of a process's event loop, as its own metrics have it.
import { sleep } from "./children.ts";
import type { Sonde } from "./sonde.ts";

const POLL_MS = 200;

/** The metric holds the longest pause since it was last read. */
export function watchPauses(sonde: Sonde) {
  const read = (): Promise<number> => sonde.metric("nodejs_eventloop_lag_max_seconds");
  let [longest, isOver] = [0, false];
  const reading = (async () => {
    await read(); // the start of the process
    while (!isOver) {
      await sleep(POLL_MS);
      longest = Math.max(longest, await read());
    }
  })();
  return {
    /** Milliseconds; ends the watch. */
    async longest(): Promise<number> {
      isOver = true;
      await reading;
      return longest * 1000;
    },
  };
}
