// Describes a call's state over the locations where it is deployed.
import { CALL_STATES, stateOf } from "../../src/model/call-state.ts";
import type { CallState } from "../../src/model/call-state.ts";
import type { CallNow } from "./call-overview.ts";
import type { Tone } from "./tone.ts";
import { listed } from "./places.ts";

type Said = Pick<CallNow, "state" | "at" | "locations">;

const TONES: Readonly<Record<CallState, Tone>> = {
  FAILING: "fail",
  WARNING: "warn",
  MISSED: "missed",
  PASSING: "pass",
  NO_RESULT: "none",
};

export const toneOfState = (state: CallState | undefined): Tone => (state ? TONES[state] : "none");

/** `at 1 of 3 locations`; "" if nothing is wrong, or there is only one location. */
export function whereText({ state, at, locations }: Said): string {
  if (state === "PASSING" || at.length === 0 || locations.length < 2) return "";
  if (at.length < locations.length) return `at ${at.length} of ${locations.length} locations`;
  return at.length === 2 ? "at both locations" : `at all ${at.length} locations`;
}

const WORDS: Readonly<Record<CallState, string>> = {
  FAILING: "Failing",
  WARNING: "Warning",
  MISSED: "Missed",
  NO_RESULT: "Call not made",
  PASSING: "Passing",
};

/** `Failing at Oslo. Missed at Rome, Paris. No result yet at Lima.` */
export function placesText({ locations }: Said, nameOf: (location: string) => string): string {
  const of = (word: string, state: CallState | null): string[] => {
    const names = locations
      .filter(({ last }) => (last ? stateOf(last.result) : null) === state)
      .map(({ location_id }) => nameOf(location_id));
    return names.length > 0 ? [`${word} at ${listed(names)}.`] : [];
  };
  const known = CALL_STATES.flatMap((state) => of(WORDS[state], state));
  return [...known, ...of("No result yet", null)].join(" ");
}

/** Returns the share of its locations that are in the call's state, from 0 to 1. */
export const shareOf = ({ at, locations }: Said): number =>
  locations.length === 0 ? 0 : at.length / locations.length;
