// The load of the accuracy benchmark: calls in one instant, and evenly at a rate.
import { atOnce, evenly } from "./load.ts";
import type { Options } from "./options.ts";

export interface Scenario {
  readonly name: string;
  readonly calls: number;
  /** The calls are due evenly within this many seconds; 0: all at one instant. */
  readonly seconds: number;
  /** Seconds from the start of a round. */
  readonly at: number;
}

const GAP_SECONDS = 2;
/** Calls due at one instant may start over several seconds. */
const INSTANT_TAKES_SECONDS = 8;

/** Returns the scenarios in the order of a round, and how long the round takes. */
export function scenariosOf({ rates, smoke }: Options): {
  readonly scenarios: readonly Scenario[];
  readonly roundSeconds: number;
} {
  const wanted: Omit<Scenario, "at">[] = smoke
    ? [{ name: "10 at once", calls: 10, seconds: 0 }]
    : [
        ...[1000, 1200].map((calls) => ({ name: `${calls} at once`, calls, seconds: 0 })),
        ...rates.map((rate) => {
          const seconds = rate > 200 ? 6 : 10;
          return { name: `${rate} a second`, calls: rate * seconds, seconds };
        }),
      ];
  const instant = smoke ? 1 : INSTANT_TAKES_SECONDS;
  let at = 0;
  const scenarios = wanted.map((scenario): Scenario => {
    const placed = { ...scenario, at };
    at += (scenario.seconds || instant) + GAP_SECONDS;
    return placed;
  });
  return { scenarios, roundSeconds: at };
}

/** When each call is sent, in milliseconds from the start of the scenario. */
export const timesOf = ({ calls, seconds }: Scenario): number[] =>
  seconds === 0 ? atOnce(calls) : evenly(calls, seconds);
