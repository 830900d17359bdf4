import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FREQUENCIES, MINUTE_MS, nextDueTimes } from "../../src/model/slots.ts";
import type { Cadence } from "../../src/model/slots.ts";
import { proposeDelay } from "../../src/model/spread.ts";

const every = (frequency: number, ...delays: readonly number[]): Cadence[] =>
  delays.map((run_delay) => ({ frequency, run_delay }));

const secondsOfAMinute = Array.from({ length: 60 }, (_, second) => second);

describe("the proposed delay", () => {
  it.each<[string, number, Cadence[], number, number]>([
    ["the first second where nothing is deployed", 5, [], 0, 0],
    ["as far as can be from the others", 5, every(5, 0), 30, 0],
    ["between them, also across the end of the minute", 1, every(1, 10, 20), 45, 0],
    ["free of those that run every minute", 360, every(1, 0), 30, 0],
    ["that of a deployment of the same frequency in another minute", 5, every(5, 90), 0, 0],
    ["the second that the fewest have", 1, every(1, ...secondsOfAMinute, 0, 1), 2, 1],
  ])("is %s", (_what, frequency, others, run_delay, sharing) => {
    expect(proposeDelay(frequency, others)).toEqual({ run_delay, sharing });
  });

  it("gives the first sixty deployments of a frequency a second each", () => {
    const made: Cadence[] = [];
    while (made.length < 60) made.push(...every(15, proposeDelay(15, made).run_delay));
    expect(new Set(made.map(({ run_delay }) => run_delay)).size).toBe(60);
  });

  it("counts exactly the deployments that share its second on some day", () => {
    const cadence = fc.record({
      frequency: fc.constantFrom(...FREQUENCIES),
      run_delay: fc.integer({ min: 0, max: 1000 }),
    });
    const DAY_MINUTES = 1440;
    const ofDay = ({ frequency, run_delay }: Cadence): Set<number> => {
      const active_from = 0;
      const runs = nextDueTimes({ frequency, run_delay, active_from }, -1, DAY_MINUTES / frequency);
      return new Set(runs.map((ms) => ms % (DAY_MINUTES * MINUTE_MS)));
    };
    fc.assert(
      fc.property(fc.constantFrom(...FREQUENCIES), fc.array(cadence), (frequency, others) => {
        const { run_delay, sharing } = proposeDelay(frequency, others);
        const own = ofDay({ frequency, run_delay });
        const met = others.filter((other) => [...ofDay(other)].some((ms) => own.has(ms)));
        expect(sharing).toBe(met.length);
      }),
      { numRuns: 50 },
    );
  });
});
