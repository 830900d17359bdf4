// The locations of simulated results, and how far they are from the simulated services.
import type { Location } from "../model/location.ts";
import { SIMULATED_REGION } from "../model/simulated.ts";

export interface SimulatedLocation extends Location {
  /** Milliseconds of a round trip to the services. */
  readonly distance: number;
  /** The agent's address, one of those for documentation (RFC 5737). */
  readonly address: string;
}

const CITIES: readonly (readonly [name: string, distance: number])[] = [
  ["Frankfurt", 6],
  ["Virginia", 88],
  ["Singapore", 165],
  ["London", 14],
  ["Tokyo", 228],
  ["Oregon", 146],
  ["Sydney", 268],
  ["Mumbai", 118],
  ["Toronto", 96],
  ["Johannesburg", 172],
];

/** After the last city, each gets a second location, and so on. */
export function simulatedLocation(index: number): SimulatedLocation {
  const [city = "", distance = 0] = CITIES[index % CITIES.length] ?? [];
  const round = Math.floor(index / CITIES.length) + 1;
  const name = round === 1 ? city : `${city} ${round}`;
  return {
    id: `sim-${name.toLowerCase().replace(" ", "-")}`,
    label: `Simulated: ${name}`,
    region: SIMULATED_REGION,
    distance: distance + round - 1,
    address: `198.51.100.${index + 1}`,
  };
}
