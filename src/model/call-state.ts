// How a call is now: over its newest outcome at each location where it is deployed, so that one
// location that fails is not hidden by others that pass.
import { categoryOf } from "./result.ts";
import type { ResultCategory, ResultCode } from "./result.ts";

/** From the worst on. */
export const CALL_STATES = ["FAILING", "WARNING", "MISSED", "NO_RESULT", "PASSING"] as const;
export type CallState = (typeof CALL_STATES)[number];

export interface LocationOutcome {
  readonly location_id: string;
  /** Null: there is none yet. */
  readonly last: { readonly result: ResultCode } | null;
}

export interface StateNow {
  /** The worst; NO_RESULT where there is none yet at any location. */
  readonly state: CallState;
  /** The locations of which it is the state. */
  readonly at: readonly string[];
}

/** A location without an outcome yet counts neither as good nor as bad. */
export function stateNow(locations: readonly LocationOutcome[]): StateNow {
  const known = locations.flatMap(({ location_id, last }) =>
    last ? [{ location_id, state: stateOf(last.result) }] : [],
  );
  const state = CALL_STATES.find((each) => known.some((one) => one.state === each)) ?? "NO_RESULT";
  const at = known.filter((one) => one.state === state).map(({ location_id }) => location_id);
  return { state, at };
}

const STATES: Readonly<Record<ResultCategory, CallState>> = {
  PASS: "PASSING",
  WARNING: "WARNING",
  FAIL: "FAILING",
};

/** NO_RESULT of an outcome that says nothing of the target: its call was not made. */
export function stateOf(result: ResultCode): CallState {
  const category = categoryOf(result);
  if (category) return STATES[category];
  return result === "MISSED" ? "MISSED" : "NO_RESULT";
}
