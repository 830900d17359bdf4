// The current state of a call: the worst of its newest outcomes at the locations where it is
// deployed. Passing locations must not hide a failing one.
import { categoryOf } from "./result.ts";
import type { ResultCategory, ResultCode } from "./result.ts";

/** Worst first. */
export const CALL_STATES = ["FAILING", "WARNING", "MISSED", "NO_RESULT", "PASSING"] as const;
export type CallState = (typeof CALL_STATES)[number];

export interface LocationOutcome {
  readonly location_id: string;
  /** Null if there is none yet. */
  readonly last: { readonly result: ResultCode } | null;
}

export interface StateNow {
  /** The worst; NO_RESULT if no location has an outcome yet. */
  readonly state: CallState;
  /** The locations that are in this state. */
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

/**
 * NO_RESULT for an outcome that says nothing about the target: no call was made, or the fault is
 * ours.
 */
export function stateOf(result: ResultCode): CallState {
  const category = categoryOf(result);
  if (category) return STATES[category];
  return result === "MISSED" ? "MISSED" : "NO_RESULT";
}
