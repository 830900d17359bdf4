// One tick to its report.
import type { Result, RunReport } from "../model/result.ts";
import type { Tick } from "../model/tick.ts";
import { isWorkflow, missedWorkflow } from "./workflow-report.ts";
import type { WorkflowTick } from "./workflow-report.ts";
import { createCallRunner } from "./run-call.ts";
import type { CallRunnerSettings, RunCall } from "./run-call.ts";
import { runWorkflow } from "./run-workflow.ts";
import type { RunControl } from "./run-workflow.ts";
import { resultWithoutCall } from "../model/result-without-call.ts";
import { reportOf } from "./report.ts";

export interface TickRunner {
  /** Makes the calls, now. Rejects with the reason of `control.cancel` only. */
  run(tick: Tick, control?: RunControl): Promise<RunReport>;
  /** For a tick that is about to start after its `latest_start`: no call is made. */
  miss(tick: Tick): RunReport;
}

export interface TickRunnerSettings extends CallRunnerSettings {
  /** What the calls of a workflow may take together at most; default `LONGEST_CALLS_MS`. */
  readonly callsLimitMs?: number;
}

export function createTickRunner(settings: TickRunnerSettings): TickRunner {
  const { clock, reporter } = settings;
  // The lines of calls hold ids, codes and numbers only. Looking for secrets in them costs as much
  // as a fifth of a call.
  const lines = settings.log.child({}, { redact: [] });
  const openCalls = createCallRunner(settings);

  const runCalls = async (tick: Tick, { cancel }: RunControl): Promise<RunReport> => {
    const lateness_ms = clock.now() - tick.due_time;
    const runCall = await openCalls(tick);
    const results: Result[] = [];
    for (const call of tick.calls) {
      const result = await runCall(tick, call, cancel);
      lines.info(logged(result, lateness_ms), "call finished");
      results.push(result);
    }
    return reportOf(reporter, tick, results);
  };

  const runSteps = async (tick: WorkflowTick, control: RunControl): Promise<RunReport> => {
    const lateness_ms = clock.now() - tick.due_time;
    const makeCall = await openCalls(tick);
    const runCall: RunCall = async (...step) => {
      const result = await makeCall(...step);
      lines.info(logged(result), "call finished");
      return result;
    };
    const report = await runWorkflow({ ...settings, runCall }, tick, control);
    lines.info({ ...loggedWorkflow(report), lateness_ms }, "workflow finished");
    return report;
  };

  return {
    run: (tick, control = {}) =>
      isWorkflow(tick) ? runSteps(tick, control) : runCalls(tick, control),
    miss(tick) {
      const lateness_ms = clock.now() - tick.due_time;
      const message = lateMessage(tick, lateness_ms);
      if (isWorkflow(tick)) {
        const report = missedWorkflow(reporter, tick, message);
        lines.warn({ ...loggedWorkflow(report), lateness_ms }, "tick missed");
        return report;
      }
      const results = tick.calls.map((call) =>
        resultWithoutCall(tick, call, { result: "MISSED", message }, reporter.agentId),
      );
      for (const result of results) lines.warn(logged(result, lateness_ms), "tick missed");
      return reportOf(reporter, tick, results);
    },
  };
}

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`;

const lateMessage = (tick: Tick, lateness: number): string =>
  `started_late: the agent was ready ${seconds(lateness)} after the due time, the limit is ${seconds(tick.latest_start - tick.due_time)}`;

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
