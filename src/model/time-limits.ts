// The longest time that a call, and the run of a workflow, may take.

/** The time limit of one call: the maximum of the tag `timeout:`. */
export const LONGEST_CALL_MS = 120_000;

/** The time limit of all calls of a workflow together, without the delays between them. */
export const LONGEST_CALLS_MS = 15 * 60_000;

/** Allowance per call, to build it and to check the agent's own network after a failure. */
const CALL_ALLOWANCE_MS = 3000;

/** The time limit of all calls of a workflow, in ms: the sum of theirs, at most `limitMs`. */
export function timeOfCalls(timeouts: readonly number[], limitMs = LONGEST_CALLS_MS): number {
  const calls = timeouts.reduce((sum, ms) => sum + ms + CALL_ALLOWANCE_MS, 0);
  return Math.min(calls, limitMs);
}

/** The time limit of a workflow's run, in milliseconds; `betweenCallsDelay` is in seconds. */
export const workflowLimitMs = (timeouts: readonly number[], betweenCallsDelay: number): number =>
  timeOfCalls(timeouts) + Math.max(0, timeouts.length - 1) * betweenCallsDelay * 1000;
