// One tick to its report. A tick's calls are made here, one after the other.
import { randomUUID } from "node:crypto";
import type { Result, RunReport } from "../model/result.ts";
import type { Tick, TickCall } from "../model/tick.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import { readBehaviour } from "./behaviour.ts";
import type { HttpCaller } from "./http-call.ts";
import { createTickOpener } from "./open-tick.ts";
import type { TickOpener } from "./open-tick.ts";
import { prepareRequest } from "./prepare-request.ts";
import { isWorkflow, missedWorkflow } from "./workflow-report.ts";
import { runWorkflow } from "./run-workflow.ts";
import type { RunCall, RunControl } from "./run-workflow.ts";
import { reportOf, resultOfCall, resultWithoutCall } from "./report.ts";
import type { Reporter } from "./report.ts";

export interface TickRunner {
  /** Makes the calls, now. Rejects with the reason of `control.cancel` only. */
  run(tick: Tick, control?: RunControl): Promise<RunReport>;
  /** For a tick that is about to start after its `latest_start`: no call is made. */
  miss(tick: Tick): RunReport;
}

export function createTickRunner({
  clock,
  log,
  caller,
  reporter,
  version,
  callsLimitMs,
  openTick = createTickOpener([]),
}: {
  readonly clock: Clock;
  readonly log: Logger;
  readonly caller: HttpCaller;
  readonly reporter: Reporter;
  readonly version: string;
  /** What the calls of a workflow may take together at most; default `LONGEST_CALLS_MS`. */
  readonly callsLimitMs?: number;
  /** By default, one without a key. */
  readonly openTick?: TickOpener;
}): TickRunner {
  // The lines of calls hold ids, codes and numbers only. Looking for secrets in them costs as much as a fifth of a call.
  const lines = log.child({}, { redact: [] });
  const unable = (tick: Tick, call: TickCall, message: string): Result =>
    resultWithoutCall(reporter, tick, call, {
      result: "UNABLE_TO_RUN",
      message,
    });

  const makeCall: RunCall = async (tick, call, cancel, cookies) => {
    if (call.unable !== undefined) return unable(tick, call, call.unable);
    const behaviour = readBehaviour(call.tags);
    if (typeof behaviour === "string") return unable(tick, call, behaviour);
    const opened = await openTick(tick, call);
    if (typeof opened === "string")
      return resultWithoutCall(reporter, tick, call, {
        result: "AGENT_ERROR",
        message: opened,
      });
    const prepared = await prepareRequest(opened.tick, opened.call, {
      version,
      now: clock.now(),
      newGuid: randomUUID,
    });
    if ("result" in prepared)
      return resultWithoutCall(reporter, tick, call, prepared);
    const { request, secrets, note } = prepared;
    const [start, began] = [clock.now(), clock.monotonic()];
    const made = await caller.call(request, behaviour, cancel, cookies);
    const span = { start, end: start + clock.monotonic() - began };
    const message = [made.message, note].filter(Boolean).join("; ") || null;
    const outcome = { ...made, message };
    return resultOfCall(reporter, tick, call, outcome, span, secrets);
  };

  const runCalls = async (
    tick: Tick,
    { cancel }: RunControl,
  ): Promise<RunReport> => {
    const lateness_ms = clock.now() - tick.due_time;
    const results: Result[] = [];
    for (const call of tick.calls) {
      const result = await makeCall(tick, call, cancel);
      lines.info(logged(result, lateness_ms), "call finished");
      results.push(result);
    }
    return reportOf(reporter, tick, results);
  };

  const runCallOfWorkflow: RunCall = async (tick, call, ...rest) => {
    const result = await makeCall(tick, call, ...rest);
    lines.info(logged(result), "call finished");
    return result;
  };

  const workflows = {
    clock,
    reporter,
    runCall: runCallOfWorkflow,
    ...(callsLimitMs !== undefined && { callsLimitMs }),
  };

  return {
    async run(tick, control = {}) {
      if (!isWorkflow(tick)) return runCalls(tick, control);
      const lateness_ms = clock.now() - tick.due_time;
      const report = await runWorkflow(workflows, tick, control);
      lines.info(
        { ...loggedWorkflow(report), lateness_ms },
        "workflow finished",
      );
      return report;
    },
    miss(tick) {
      const lateness_ms = clock.now() - tick.due_time;
      const message = lateMessage(tick, lateness_ms);
      if (isWorkflow(tick)) {
        const report = missedWorkflow(reporter, tick, message);
        lines.warn({ ...loggedWorkflow(report), lateness_ms }, "tick missed");
        return report;
      }
      const results = tick.calls.map((call) =>
        resultWithoutCall(reporter, tick, call, { result: "MISSED", message }),
      );
      for (const result of results)
        lines.warn(logged(result, lateness_ms), "tick missed");
      return reportOf(reporter, tick, results);
    },
  };
}

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`;

const lateMessage = (tick: Tick, lateness: number): string =>
  `started too late: the agent was ready ${seconds(lateness)} after the due time, the limit is ${seconds(tick.latest_start - tick.due_time)}`;

const loggedWorkflow = ({ run_id, workflow }: RunReport) => ({
  workflow_id: workflow?.meta.workflow_id,
  workflow_result_id: run_id,
  result: workflow?.meta.result,
  ...workflow?.counts,
});

const logged = ({ id, meta, timing }: Result, lateness_ms?: number) => ({
  call_id: meta.call_id,
  result_id: id,
  result: meta.result,
  http_code: meta.http_code,
  latency_ms: timing.total,
  ...(lateness_ms !== undefined && { lateness_ms }),
});
