// The locations of simulated results, and how far they are from the simulated services.
import type { Location } from "../model/location.ts";

export interface SimulatedLocation extends Location {
  /** Milliseconds of a round trip to the services. */
  readonly distance: number;
  /** Of the agent. The addresses are for documentation (RFC 5737). */
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
  ["São Paulo", 205],
  ["Mumbai", 118],
  ["Toronto", 96],
  ["Stockholm", 24],
  ["Madrid", 28],
  ["Johannesburg", 172],
  ["Seoul", 236],
  ["Dubai", 104],
  ["Dublin", 22],
  ["Chicago", 104],
  ["Osaka", 232],
  ["Warsaw", 19],
  ["Santiago", 226],
];

/** Beyond the cities, a second location in each, and so on. */
export function simulatedLocation(index: number): SimulatedLocation {
  const [name = "", distance = 0] = CITIES[index % CITIES.length] ?? [];
  const round = Math.floor(index / CITIES.length) + 1;
  const suffix = round === 1 ? "" : ` ${round}`;
  const plain = name.normalize("NFD").replaceAll(/[^A-Za-z ]/g, "");
  return {
    id: `sim-${`${plain}${suffix}`.toLowerCase().replaceAll(" ", "-")}`,
    label: `Simulated: ${name}${suffix}`,
    region: "Simulated",
    distance: distance + round - 1,
    address: `198.51.100.${index + 1}`,
  };
}
