// Work in the background, again and again, that may fail without harm: measurements.
import type { Clock } from "./clock.ts";
import type { Service } from "./lifecycle.ts";
import type { Logger } from "./logger.ts";

export interface RoundsOptions {
  readonly name: string;
  /** From the end of one to the next; longer after one that took long. */
  readonly everyMs: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly work: (signal: AbortSignal) => Promise<void>;
}

/** It works for at most a twentieth of the time, unless that would take longer than this. */
const REST_FACTOR = 20;
const LONGEST_PAUSE_MS = 45_000;

export function createRounds({ name, everyMs, clock, log, work }: RoundsOptions): Service {
  const stopping = new AbortController();
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const began = clock.monotonic();
      await work(stopping.signal).catch((err: unknown) => {
        if (!stopping.signal.aborted) log.debug({ err, round: name }, "not measured");
      });
      const rest = Math.min(REST_FACTOR * (clock.monotonic() - began), LONGEST_PAUSE_MS);
      const pause = clock.pause(Math.max(everyMs, rest), stopping.signal);
      await pause.catch(() => undefined); // it stops
    }
  }

  return {
    name,
    async start() {
      running = run();
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
