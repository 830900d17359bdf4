// A workflow's run: its calls one after the other, within the time that they have together.
import { formatInstant } from "../model/instant.ts";
import { LATE_AFTER_MS } from "../model/result.ts";
import type { Result, RunReport } from "../model/result.ts";
import type { Tick, TickCall } from "../model/tick.ts";
import {
  outcomeOfWorkflow,
  stopsWorkflow,
  workflowLimitMs,
} from "../model/workflow-result.ts";
import type { Clock } from "../runtime/clock.ts";
import { DEFAULT_BEHAVIOUR, readBehaviour } from "./behaviour.ts";
import { createCookies } from "./cookie-jar.ts";
import type { Cookies } from "./cookie-jar.ts";
import { createDeadline } from "./deadline.ts";
import { resultWithoutCall } from "./report.ts";
import type { Reporter } from "./report.ts";
import { reportOfWorkflow } from "./workflow-report.ts";
import type { WorkflowTick } from "./workflow-report.ts";

/** Makes one call of the tick, with the tick's context. Rejects with the reason of `cancel` only. */
export type RunCall = (
  tick: Tick,
  call: TickCall,
  cancel?: AbortSignal,
  /** Those of the calls before it; by default it has its own. */
  cookies?: Cookies,
) => Promise<Result>;

export interface WorkflowRunner {
  readonly clock: Clock;
  readonly reporter: Reporter;
  readonly runCall: RunCall;
  /** What its calls may take together at most; beside it come the delays. Default: `LONGEST_CALLS_MS`. */
  readonly callsLimitMs?: number;
}

export interface RunControl {
  readonly cancel?: AbortSignal | undefined;
  /** Lends the run's place to others while it waits. */
  readonly aside?: (wait: () => Promise<void>) => Promise<void>;
}

// setTimeout holds at most 2^31 - 1 ms: no run goes on for more than 24 days.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export async function runWorkflow(
  runner: WorkflowRunner,
  tick: WorkflowTick,
  control: RunControl = {},
): Promise<RunReport> {
  const { clock, reporter, callsLimitMs } = runner;
  const { workflow } = tick;
  const [start, began] = [clock.now(), clock.monotonic()];
  const limit = workflowLimitMs(
    tick.calls.map(timeoutOf),
    workflow.between_calls_delay,
    callsLimitMs,
  );
  const deadline = createDeadline(
    Math.min(limit, LONGEST_TIMER_MS),
    control.cancel,
  );
  const results: Result[] = [];
  try {
    await makeCalls(runner, tick, {
      ...control,
      end: deadline.signal,
      results,
    });
  } catch (cause) {
    control.cancel?.throwIfAborted();
    if (!deadline.signal.aborted) throw cause;
    const message = `workflow_timeout: the workflow's time of ${limit / 1000} s was over`;
    skipRest(reporter, tick, results, message);
  } finally {
    deadline.clear();
  }
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
  return (typeof behaviour === "string" ? DEFAULT_BEHAVIOUR : behaviour)
    .timeoutMs;
};

interface Steps extends RunControl {
  /** Aborted when the workflow's time is over, or the run cancelled. */
  readonly end: AbortSignal;
  /** Those made so far are here, also when the rest is not made. */
  readonly results: Result[];
}

async function makeCalls(
  { clock, reporter, runCall }: WorkflowRunner,
  tick: WorkflowTick,
  { end, results, aside = (wait) => wait() }: Steps,
): Promise<void> {
  const { stop_on_failure, handle_cookies, between_calls_delay } =
    tick.workflow;
  const cookies = handle_cookies ? createCookies() : undefined;
  const delayMs = between_calls_delay * 1000;
  for (const [step, call] of tick.calls.entries()) {
    if (step > 0 && delayMs > 0)
      await aside(() => clock.waitUntil(clock.now() + delayMs, end));
    end.throwIfAborted();
    const context = contextOf(tick, results.at(-1));
    const result = await runCall({ ...tick, context }, call, end, cookies);
    results.push(result);
    if (!stop_on_failure || !stopsWorkflow(result)) continue;
    const message = `not reached: call ${step + 1} of the workflow ended with ${result.meta.result}`;
    return skipRest(reporter, tick, results, message);
  }
}

/** What was given with the run wins over what the call before it left. */
const contextOf = (
  { context }: WorkflowTick,
  before: Result | undefined,
): Tick["context"] =>
  before
    ? {
        HTTP_CODE: before.meta.http_code ?? "",
        RESULT: before.meta.result,
        ...context,
      }
    : context;

function skipRest(
  reporter: Reporter,
  tick: WorkflowTick,
  results: Result[],
  message: string,
): void {
  for (const call of tick.calls.slice(results.length))
    results.push(
      resultWithoutCall(reporter, tick, call, { result: "SKIPPED", message }),
    );
}

/** A run is late or in time as a whole: later calls are due when the ones before them ended. */
const withLateness = (result: Result, is_late: boolean): Result =>
  result.meta.start_time === null
    ? result
    : { ...result, meta: { ...result.meta, is_late } };
