// A workflow's run: its calls one after the other, within the time that they have together.
import { formatInstant } from "../model/instant.ts";
import { LATE_AFTER_MS } from "../model/result.ts";
import type { Result, RunReport } from "../model/result.ts";
import type { Tick, TickCall } from "../model/tick.ts";
import { outcomeOfWorkflow, stopsWorkflow, timeOfCalls } from "../model/workflow-result.ts";
import type { Clock } from "../runtime/clock.ts";
import { DEFAULT_BEHAVIOUR, readBehaviour } from "./http/behaviour.ts";
import { createCookies } from "./http/cookie-jar.ts";
import { createDeadline } from "../runtime/deadline.ts";
import { resultWithoutCall } from "../model/result-without-call.ts";
import type { Reporter } from "./report.ts";
import type { RunCall } from "./run-call.ts";
import { reportOfWorkflow } from "./workflow-report.ts";
import type { WorkflowTick } from "./workflow-report.ts";

export interface WorkflowRunner {
  readonly clock: Clock;
  readonly reporter: Reporter;
  readonly runCall: RunCall;
  /**
   * What its calls may take together at most; beside it come the delays. Default:
   * `LONGEST_CALLS_MS`.
   */
  readonly callsLimitMs?: number;
}

export interface RunControl {
  readonly cancel?: AbortSignal | undefined;
  /** Lends the run's place to others while it waits. */
  readonly aside?: (wait: () => Promise<void>) => Promise<void>;
}

export async function runWorkflow(
  runner: WorkflowRunner,
  tick: WorkflowTick,
  control: RunControl = {},
): Promise<RunReport> {
  const { clock, reporter } = runner;
  const [start, began] = [clock.now(), clock.monotonic()];
  const results = await makeCalls(runner, tick, control);
  const is_late = start - tick.due_time > LATE_AFTER_MS;
  const shown = results.map((result) => withLateness(result, is_late));
  return reportOfWorkflow(reporter, tick, shown, {
    start_time: formatInstant(start),
    end_time: formatInstant(start + clock.monotonic() - began),
    ...outcomeOfWorkflow(shown),
    is_late,
  });
}

const timeoutOf = ({ tags }: TickCall): number => {
  const behaviour = readBehaviour(tags);
  return (typeof behaviour === "string" ? DEFAULT_BEHAVIOUR : behaviour).timeoutMs;
};

/**
 * The time of the calls stands still between them: neither a delay nor a wait for a place is a
 * call's fault.
 */
async function makeCalls(
  { clock, reporter, runCall, callsLimitMs }: WorkflowRunner,
  tick: WorkflowTick,
  { cancel, aside = (wait) => wait() }: RunControl,
): Promise<Result[]> {
  const { stop_on_failure, handle_cookies, between_calls_delay } = tick.workflow;
  const cookies = handle_cookies ? createCookies(clock) : undefined;
  const delayMs = between_calls_delay * 1000;
  const limit = timeOfCalls(tick.calls.map(timeoutOf), callsLimitMs);
  let left = limit;
  const results: Result[] = [];
  const withRest = (message: string): Result[] => [
    ...results,
    ...skipped(reporter, tick, results.length, message),
  ];
  for (const [step, call] of tick.calls.entries()) {
    if (step > 0 && delayMs > 0) await aside(() => clock.pause(delayMs, cancel));
    const context = contextOf(tick, results.at(-1));
    const began = clock.monotonic();
    const result = await within(left, cancel, (end) =>
      runCall({ ...tick, context }, call, end, cookies),
    );
    left -= clock.monotonic() - began;
    if (!result)
      return withRest(
        `workflow_timeout: the time of ${limit / 1000} s for the workflow's calls was over`,
      );
    results.push(result);
    if (stop_on_failure && stopsWorkflow(result))
      return withRest(
        `not_reached: call ${step + 1} of the workflow ended with ${result.meta.result}`,
      );
  }
  return results;
}

/** Undefined when the time was over first. Rejects with the reason of `cancel`. */
async function within(
  ms: number,
  cancel: AbortSignal | undefined,
  work: (end: AbortSignal) => Promise<Result>,
): Promise<Result | undefined> {
  cancel?.throwIfAborted();
  if (ms <= 0) return undefined;
  const deadline = createDeadline(ms, cancel);
  try {
    return await work(deadline.signal);
  } catch (cause) {
    cancel?.throwIfAborted();
    if (!deadline.signal.aborted) throw cause;
    return undefined;
  } finally {
    deadline.clear();
  }
}

/** What was given with the run wins over what the call before it left. */
const contextOf = ({ context }: WorkflowTick, before: Result | undefined): Tick["context"] =>
  before
    ? {
        HTTP_CODE: before.meta.http_code ?? "",
        RESULT: before.meta.result,
        ...context,
      }
    : context;

const skipped = (
  reporter: Reporter,
  tick: WorkflowTick,
  reached: number,
  message: string,
): Result[] =>
  tick.calls
    .slice(reached)
    .map((call) => resultWithoutCall(tick, call, { result: "SKIPPED", message }, reporter.agentId));

/** A run is late or in time as a whole: later calls are due when the ones before them ended. */
const withLateness = (result: Result, is_late: boolean): Result =>
  result.meta.start_time === null ? result : { ...result, meta: { ...result.meta, is_late } };
