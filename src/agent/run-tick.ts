// One tick to its report: its calls one after another. A single call is a run of one step; a
// workflow also has a result of its own, and limits the time of its calls.
import { formatInstant } from "../model/instant.ts";
import { resultWithoutCall, workflowResultWithoutCalls } from "../model/result-without-call.ts";
import { LATE_AFTER_MS } from "../model/result.ts";
import type { Result, RunReport, WorkflowResult } from "../model/result.ts";
import type { Tick, TickCall } from "../model/tick.ts";
import { stopsWorkflow, timeOfCalls } from "../model/workflow-result.ts";
import { createDeadline } from "../runtime/deadline.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Sealer } from "../runtime/secrets.ts";
import { DEFAULT_BEHAVIOUR, readBehaviour } from "./http/behaviour.ts";
import { createCookies } from "./http/cookies.ts";
import { openTick } from "./open-tick.ts";
import type { SealedTick } from "./open-tick.ts";
import { reportOf, resultOfWorkflow } from "./report.ts";
import type { WorkflowTick } from "./report.ts";
import { runCall } from "./run-call.ts";
import type { CallSettings, Run } from "./run-call.ts";

export interface RunSettings extends CallSettings {
  /** Logs results: ids, codes and numbers only. Default: `log`. */
  readonly resultLog?: Logger;
  /** Opens sealed secrets. Default: the agent has no location key. */
  readonly sealer?: Sealer | undefined;
  /** Maximum time for all calls of a workflow, delays excluded. Default: `LONGEST_CALLS_MS`. */
  readonly callsLimitMs?: number;
}

export interface RunControl {
  /** Ends the run. */
  readonly cancel?: AbortSignal | undefined;
  /** Frees the run's place during the wait. */
  readonly withoutPlace?: (wait: () => Promise<void>) => Promise<void>;
}

const isWorkflow = (tick: Tick): tick is WorkflowTick => tick.workflow != null;

const isSealed = (tick: Tick): tick is SealedTick => tick.sealed !== undefined;

/** Makes the calls, now. Rejects with the reason of `control.cancel` only. */
export async function runTick(
  settings: RunSettings,
  tick: Tick,
  control: RunControl = {},
): Promise<RunReport> {
  const { clock, reporter, resultLog = settings.log } = settings;
  const [start, began] = [clock.now(), clock.monotonic()];
  const lateness_ms = start - tick.due_time;
  const is_late = lateness_ms > LATE_AFTER_MS;
  const logged = isWorkflow(tick) ? {} : { lateness_ms };
  const onResult = (result: Result): void =>
    resultLog.info({ ...fieldsOf(result), ...logged }, "call finished");
  const run = await openRun(settings, tick, is_late);
  const results = await runCalls(settings, run, control, onResult);
  if (!isWorkflow(tick)) return reportOf(reporter, tick, results);
  const whole = resultOfWorkflow(reporter, tick, results, {
    start_time: formatInstant(start),
    end_time: formatInstant(start + clock.monotonic() - began),
    is_late,
  });
  resultLog.info({ ...fieldsOfWorkflow(whole), lateness_ms }, "workflow finished");
  return reportOf(reporter, tick, results, whole);
}

async function openRun({ clock, sealer }: RunSettings, tick: Tick, isLate: boolean): Promise<Run> {
  const opened = isSealed(tick) ? await openTick(tick, sealer) : tick;
  return {
    ...(typeof opened === "string" ? { tick, secretsFault: opened } : { tick: opened }),
    isLate,
    ...(tick.workflow?.handle_cookies && { cookies: createCookies(clock) }),
  };
}

/**
 * The time limit of a workflow runs during its calls only: neither a delay nor the wait for a place
 * counts against it.
 */
async function runCalls(
  settings: RunSettings,
  run: Run,
  { cancel, withoutPlace = (wait) => wait() }: RunControl,
  onResult: (result: Result) => void,
): Promise<Result[]> {
  const {
    clock,
    callsLimitMs,
    reporter: { agentId },
  } = settings;
  const { workflow, calls } = run.tick;
  const delayMs = (workflow?.between_calls_delay ?? 0) * 1000;
  const limitMs = workflow ? timeOfCalls(calls.map(timeoutOf), callsLimitMs) : Infinity;
  let leftMs = limitMs;
  const results: Result[] = [];
  const skipRest = (message: string): Result[] => [
    ...results,
    ...calls
      .slice(results.length)
      .map((call) => resultWithoutCall(run.tick, call, { result: "SKIPPED", message }, agentId)),
  ];
  for (const [step, call] of calls.entries()) {
    if (step > 0 && delayMs > 0) await withoutPlace(() => clock.pause(delayMs, cancel));
    const began = clock.monotonic();
    const stepRun = withPrevious(run, results.at(-1));
    const result = await within(leftMs, cancel, (end) => runCall(settings, stepRun, call, end));
    leftMs -= clock.monotonic() - began;
    if (!result)
      return skipRest(`workflow_timeout: the workflow's calls exceeded ${limitMs / 1000} s`);
    onResult(result);
    results.push(result);
    if (workflow?.stop_on_failure && stopsWorkflow(result))
      return skipRest(
        `not_reached: call ${step + 1} of the workflow ended with ${result.meta.result}`,
      );
  }
  return results;
}

const timeoutOf = ({ tags }: TickCall): number => {
  const behaviour = readBehaviour(tags);
  return (typeof behaviour === "string" ? DEFAULT_BEHAVIOUR : behaviour).timeoutMs;
};

/** Undefined when the time runs out first. Rejects with the reason of `cancel`. */
async function within(
  ms: number,
  cancel: AbortSignal | undefined,
  work: (end: AbortSignal | undefined) => Promise<Result>,
): Promise<Result | undefined> {
  cancel?.throwIfAborted();
  if (ms === Infinity) return work(cancel);
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

/** With the previous call's outcome as context; the context given with the run takes precedence. */
function withPrevious(run: Run, previous: Result | undefined): Run {
  if (!previous) return run;
  const { result: RESULT, http_code } = previous.meta;
  const context = { HTTP_CODE: http_code ?? "", RESULT, ...run.tick.context };
  return { ...run, tick: { ...run.tick, context } };
}

/** Reports a tick that would start after its `latest_start`: no call is made. */
export function missTick(
  { clock, reporter, log, resultLog = log }: RunSettings,
  tick: Tick,
): RunReport {
  const lateness_ms = clock.now() - tick.due_time;
  const allowed = tick.latest_start - tick.due_time;
  const message = `started_late: the agent was ready ${seconds(lateness_ms)} after the due time, the limit is ${seconds(allowed)}`;
  const outcome = { result: "MISSED", message } as const;
  const { agentId } = reporter;
  if (isWorkflow(tick)) {
    const whole = workflowResultWithoutCalls(tick, tick.workflow, outcome, agentId);
    resultLog.warn({ ...fieldsOfWorkflow(whole), lateness_ms }, "tick missed");
    return reportOf(reporter, tick, [], whole);
  }
  const results = tick.calls.map((call) => resultWithoutCall(tick, call, outcome, agentId));
  for (const result of results) resultLog.warn({ ...fieldsOf(result), lateness_ms }, "tick missed");
  return reportOf(reporter, tick, results);
}

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`;

const fieldsOf = ({ id, meta, timing }: Result) => ({
  call_id: meta.call_id,
  result_id: id,
  result: meta.result,
  http_code: meta.http_code,
  latency_ms: timing.total,
});

const fieldsOfWorkflow = ({ id, meta, counts }: WorkflowResult) => ({
  workflow_id: meta.workflow_id,
  workflow_result_id: id,
  result: meta.result,
  ...counts,
});
