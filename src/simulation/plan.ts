// Plans a simulation. Everything in it follows from its seed: simulating again, for longer or at a
// later time, adds to the same calls, and gives every run the same outcome.
import type { Ownership } from "../model/access.ts";
import { derivedId } from "../runtime/ids.ts";
import { simulatedLocation } from "./locations.ts";
import type { SimulatedLocation } from "./locations.ts";
import { keyOf } from "./random.ts";
import { simulatedService } from "./services.ts";
import type { Service } from "./services.ts";

/** The weeks from one troubled week of a call to the next. */
export const TROUBLED_EVERY = 8;

/** The weeks from one slow release of a call to the next. The first half of them are slow. */
export const SLOW_RELEASE_EVERY = 16;

export interface PlanOptions extends Ownership {
  readonly seed: number;
  readonly calls: number;
  readonly locations: number;
  /** Minutes between runs. */
  readonly frequency: number;
  /** A troubled week, by `weekOf`; by default, each call has its own. */
  readonly troubledWeek?: number;
  /** The week of a slow release, by `weekOf`; by default, each call has its own. */
  readonly slowRelease?: number;
}

export interface SimulatedCall {
  readonly id: string;
  readonly key: number;
  readonly name: string;
  readonly url: string;
  readonly service: Service;
  /** The number of a troubled week, modulo `TROUBLED_EVERY`. */
  readonly troubledWeek: number;
  /** The number of a slow release's week, modulo `SLOW_RELEASE_EVERY`. */
  readonly slowRelease: number;
}

export interface Plan extends Ownership {
  readonly seed: number;
  readonly frequency: number;
  readonly calls: readonly SimulatedCall[];
  readonly locations: readonly (SimulatedLocation & { readonly key: number })[];
}

/** The runs of one call at one location. */
export interface Series {
  readonly plan: Plan;
  readonly key: number;
  readonly call: SimulatedCall;
  readonly location: Plan["locations"][number];
  /** The id of a deployment that does not exist: nothing ever calls the targets. */
  readonly deploymentId: string;
}

export function planOf(options: PlanOptions): Plan {
  const { seed, frequency, owner, owner_org } = options;
  const calls = Array.from({ length: options.calls }, (_, n) => plannedCall(options, n));
  const locations = Array.from({ length: options.locations }, (_, n) => {
    const location = simulatedLocation(n);
    return { ...location, key: keyOf(seed, "location", location.id) };
  });
  return { seed, frequency, owner, owner_org, calls, locations };
}

/** Yields one series for each call and location, in order. There may be a million. */
export function* seriesOf(plan: Plan): Generator<Series> {
  for (const call of plan.calls)
    for (const location of plan.locations)
      yield {
        plan,
        call,
        location,
        key: keyOf(plan.seed, "series", call.key, location.id),
        deploymentId: idOf(plan, 0, "deployment", call.id, location.id),
      };
}

function plannedCall(options: PlanOptions, n: number): SimulatedCall {
  const service = simulatedService(n);
  const key = keyOf(options.seed, "call", n);
  return {
    id: idOf(options, n, "call", String(n)),
    key,
    name: `Simulated: ${service.name}`,
    url: `https://${service.host}${service.path}`,
    service,
    troubledWeek: (options.troubledWeek ?? key) % TROUBLED_EVERY,
    slowRelease: (options.slowRelease ?? key) % SLOW_RELEASE_EVERY,
  };
}

/**
 * Derives an id. Each owner has its own simulations. The id's time must be the same every time, so
 * it is only the place among the others.
 */
const idOf = (
  { seed, owner, owner_org }: Ownership & { readonly seed: number },
  place: number,
  ...parts: readonly string[]
): string => derivedId(place, "simulation", owner, JSON.stringify(owner_org), `${seed}`, ...parts);
