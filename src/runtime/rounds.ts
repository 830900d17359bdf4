// Repeats background work that may fail without harm: measurements.
import type { Clock } from "./clock.ts";
import type { Service } from "./lifecycle.ts";
import type { Logger } from "./logger.ts";

export interface RoundsOptions {
  readonly name: string;
  /** From the end of one round to the start of the next; longer after a slow one. */
  readonly everyMs: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly work: (signal: AbortSignal) => Promise<void>;
}

/** A pause lasts at least this many times the previous round, up to the longest pause. */
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
      await pause.catch(() => undefined); // stopping
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
