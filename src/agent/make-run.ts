// Makes the calls of a run, one after another, and its report. A single call is a run of one step;
// a workflow also has its own result, and limits the time of its calls.
import { keptContext } from "../model/context.ts";
import { formatInstant } from "../model/instant.ts";
import { resultWithoutCall, workflowResultWithoutCalls } from "../model/result-without-call.ts";
import { createMask } from "../model/mask.ts";
import { missedMessage } from "../model/missed.ts";
import type { Result, RunReport } from "../model/result.ts";
import type { Tick, TickCall } from "../model/tick.ts";
import { timeOfCalls } from "../model/time-limits.ts";
import { stopsWorkflow } from "../model/workflow-result.ts";
import { createDeadline } from "../runtime/deadline.ts";
import type { HttpCaller } from "./http/http-call.ts";
import { credentialsIn } from "./http/http-request.ts";
import { prepareRequest } from "./prepare-request.ts";
import { agentFault, logFault, prepareRun } from "./prepare-run.ts";
import type { Fault, Run, Step } from "./prepare-run.ts";
import { createRenewedCredentials } from "./renewed-credentials.ts";
import type { CredentialsSettings } from "./renewed-credentials.ts";
import { reportOf, resultOfCall, resultOfWorkflow } from "./report.ts";
import type { Reporter, WorkflowTick } from "./report.ts";

export interface RunSettings extends CredentialsSettings {
  readonly caller: HttpCaller;
  readonly reporter: Reporter;
  readonly version: string;
  /** Maximum time for all calls of a workflow, delays excluded. Default: `LONGEST_CALLS_MS`. */
  readonly callsLimitMs?: number;
}

/** How the run shares the agent's thread with others: `createRuns` in `intake.ts`. */
export interface RunControl {
  /** Ends the run at its current call. */
  readonly cancel?: AbortSignal | undefined;
  /** Gives up the run's place, and waits between two calls of a workflow. */
  readonly pause: (ms: number) => Promise<void>;
  /** Resolves when the run has a place again for its next call. */
  readonly resume: () => Promise<void>;
  /** Resolves when there is time for work that is not urgent. */
  readonly chore: () => Promise<void>;
}

const isWorkflow = (tick: Tick): tick is WorkflowTick => tick.workflow != null;

/**
 * Makes the calls now. Never rejects: a call that `control.cancel` ends, or that it prevents in a
 * workflow, is an AGENT_ERROR. If the run was given back, another agent would repeat its calls.
 */
export async function makeRun(
  settings: RunSettings,
  tick: Tick,
  control: RunControl,
): Promise<RunReport> {
  const { clock, reporter } = settings;
  const [start, began] = [clock.now(), clock.monotonic()];
  const run = prepareRun(settings, tick, start);
  const results = await makeCalls(settings, run, control);
  if (!isWorkflow(tick)) return reportOf(reporter, tick, results);
  const whole = resultOfWorkflow(reporter, tick, results, {
    start_time: formatInstant(start),
    end_time: formatInstant(start + clock.monotonic() - began),
    is_late: run.isLate,
  });
  const report = reportOf(reporter, tick, results, whole);
  if (Object.keys(tick.context).length === 0) return report;
  await control.chore();
  return { ...report, context: keptContext(tick.context, createMask(run.secrets)) };
}

const AGENT_STOPPED: Fault = {
  result: "AGENT_ERROR",
  message: "agent_error: the agent stopped before the run ended",
};

/** A workflow's time limit runs only during its calls, not during the waits between them. */
async function makeCalls(settings: RunSettings, run: Run, control: RunControl): Promise<Result[]> {
  const { callsLimitMs, clock } = settings;
  const { tick, steps } = run;
  const { workflow } = tick;
  const delayMs = (workflow?.between_calls_delay ?? 0) * 1000;
  const limitMs = workflow
    ? timeOfCalls(
        steps.map(({ behaviour }) => behaviour.timeoutMs),
        callsLimitMs,
      )
    : Infinity;
  const credentials = createRenewedCredentials(settings, tick, control.cancel);
  let leftMs = limitMs;
  const results: Result[] = [];
  const skipRest = (message: string): Result[] => [
    ...results,
    ...steps
      .slice(results.length)
      .map(({ call }) => unmade(settings, tick, call, { result: "SKIPPED", message })),
  ];
  const makeNext = async (planned: Step): Promise<Result | undefined> => {
    let step = planned;
    if (results.length > 0) {
      await control.pause(delayMs);
      step = await credentials.renewed(planned);
      await control.resume();
    }
    const current = withPrevious(tick, results.at(-1));
    const began = clock.monotonic();
    const call = (end: AbortSignal | undefined): Promise<Result> =>
      makeCall(settings, { ...run, tick: current }, step, { ...control, cancel: end });
    const result = await within(leftMs, control.cancel, call);
    leftMs -= clock.monotonic() - began;
    return result;
  };
  for (const [at, planned] of steps.entries()) {
    const result = await makeNext(planned).catch((cause: unknown) => {
      if (!control.cancel?.aborted) throw cause;
      return "cancelled" as const;
    });
    if (result === "cancelled") {
      results.push(unmade(settings, tick, planned.call, AGENT_STOPPED));
      return skipRest("not_reached: the agent stopped");
    }
    if (!result)
      return skipRest(`workflow_timeout: the workflow's calls exceeded ${limitMs / 1000} s`);
    results.push(result);
    if (workflow?.stop_on_failure && stopsWorkflow(result))
      return skipRest(
        `not_reached: call ${at + 1} of the workflow ended with ${result.meta.result}`,
      );
  }
  return results;
}

/** Resolves with undefined if the time runs out first. Rejects with the reason of `cancel`. */
async function within(
  ms: number,
  cancel: AbortSignal | undefined,
  call: (end: AbortSignal | undefined) => Promise<Result>,
): Promise<Result | undefined> {
  cancel?.throwIfAborted();
  if (ms === Infinity) return call(cancel);
  if (ms <= 0) return undefined;
  const end = new AbortController();
  const deadline = createDeadline(ms, cancel);
  deadline.watch(() => end.abort());
  try {
    return await call(end.signal);
  } catch (cause) {
    cancel?.throwIfAborted();
    if (!deadline.isOver()) throw cause;
    return undefined;
  } finally {
    deadline.clear();
  }
}

/** Adds the previous call's outcome to the context; the run's own context takes precedence. */
function withPrevious(tick: Tick, previous: Result | undefined): Tick {
  if (!previous) return tick;
  const { result: RESULT, http_code } = previous.meta;
  return { ...tick, context: { HTTP_CODE: http_code ?? "", RESULT, ...tick.context } };
}

/** Rejects only on `control.cancel`, with its reason. */
async function makeCall(
  settings: RunSettings,
  { tick, isLate, cookies, secrets: ofRun }: Run,
  { call, behaviour, fault }: Step,
  { cancel, chore }: RunControl,
): Promise<Result> {
  const { clock, caller, reporter, version } = settings;
  try {
    if (fault) return unmade(settings, tick, call, fault);
    const prepared = await prepareRequest(tick, call, { version, now: clock.now() });
    if ("result" in prepared) return unmade(settings, tick, call, prepared);
    const { request, note, secrets } = prepared;
    const start = clock.now();
    const made = await caller.call({ ...request, secrets }, behaviour, cancel, cookies);
    if (made.fault !== undefined) logFault(settings, call, made.fault);
    await chore();
    // Servers echo requests: each credential sent may come back anywhere.
    const requests = [...made.hops, made.last].map((trace) => trace.request);
    const sent = [...secrets, ...requests.flatMap(credentialsIn)];
    for (const secret of sent) ofRun.add(secret);
    const facts = { outcome: made, note, start, isLate, secrets: sent };
    return resultOfCall(reporter, tick, call, facts);
  } catch (cause) {
    cancel?.throwIfAborted();
    return unmade(settings, tick, call, agentFault(settings, call, cause));
  }
}

const unmade = (
  { reporter }: RunSettings,
  tick: Tick,
  call: TickCall,
  { result, message }: Fault,
): Result => resultWithoutCall(tick, call, { result, message }, reporter.agentId);

/**
 * The report of a tick that would start after its `latest_start`: no call is made. `received`: when
 * it arrived. After an outage of the hub, that may be too late however many agents there are.
 */
export function missedReport(
  { clock, reporter }: RunSettings,
  tick: Tick,
  received: number,
): RunReport {
  const allowed = tick.latest_start - tick.due_time;
  const [what, at] =
    received > tick.latest_start ? ["got the run", received] : ["was ready", clock.now()];
  const message = missedMessage(
    "started_late",
    `the agent ${what} ${seconds(at - tick.due_time)} after the due time; the limit is ${seconds(allowed)}`,
  );
  const outcome = { result: "MISSED", message } as const;
  const { agentId } = reporter;
  if (isWorkflow(tick)) {
    const whole = workflowResultWithoutCalls(tick, tick.workflow, outcome, agentId);
    return reportOf(reporter, tick, [], whole);
  }
  const results = tick.calls.map((call) => resultWithoutCall(tick, call, outcome, agentId));
  return reportOf(reporter, tick, results);
}

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`;
