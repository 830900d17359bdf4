// Logs and counts runs: a line for each call that did not pass (at level `debug`, for every call),
// and a summary every minute. Lines hold only ids, names, codes and numbers.
import type { RunReport, WorkflowResult, ReportedResult } from "../model/result.ts";
import type { Tick } from "../model/tick.ts";
import { isUncertain } from "../model/uncertainty.ts";
import { countedAs } from "../model/workflow-result.ts";
import type { Logger } from "../runtime/logger.ts";
import type { AgentMetrics } from "./metrics.ts";

const SUMMARY_INTERVAL_MS = 60_000;

export type RunLog = ReturnType<typeof createRunLog>;

export function createRunLog(given: Logger, metrics: AgentMetrics) {
  // Redaction would cost up to a fifth of a call's CPU time.
  const log = given.child({}, { redact: [] });
  const logsAll = log.isLevelEnabled("debug");
  let summary = newSummary();
  let timer: NodeJS.Timeout | undefined;

  function note(outcome: ReportedResult | WorkflowResult, msg: string, facts: () => object): void {
    const { result, result_category } = outcome.meta;
    if (result === "MISSED") log.warn(facts(), "run missed");
    else if (result === "AGENT_ERROR") log.warn(facts(), msg);
    else if (result_category !== "PASS") log.info(facts(), msg);
    else if (logsAll) log.debug(facts(), msg);
  }

  function noteCall(result: ReportedResult, tick: Tick, lateness: object): void {
    const { uncertainty } = result.timing;
    if (uncertainty != null) metrics.timingUncertainty.observe(uncertainty / 1000);
    if (isUncertain(result.timing)) metrics.uncertainResults.inc();
    count(summary, result);
    note(result, "call finished", () => ({ ...factsOfCall(result, tick), ...lateness }));
  }

  const summarize = (): void => {
    if (summary.calls + summary.missed > 0) log.info(summary, "runs since the last summary");
    summary = newSummary();
  };

  return {
    /** Call it once per run. `lateness_ms`: from its place in time to its start. */
    ended({ results, workflow }: RunReport, tick: Tick, lateness_ms: number): void {
      summary.max_lateness_ms = Math.max(summary.max_lateness_ms, lateness_ms);
      for (const result of results) noteCall(result, tick, workflow ? {} : { lateness_ms });
      for (const { meta } of workflow && results.length === 0 ? [workflow] : results)
        metrics.runs.inc({ result: meta.result });
      if (!workflow) return;
      if (workflow.meta.result === "MISSED") summary.missed += 1;
      note(workflow, "workflow finished", () => ({ ...factsOfWorkflow(workflow), lateness_ms }));
    },
    begin: () => void (timer = setInterval(summarize, SUMMARY_INTERVAL_MS)),
    /** Logs a last summary. */
    end(): void {
      clearInterval(timer);
      summarize();
    },
  };
}

const newSummary = () => ({
  calls: 0,
  passed: 0,
  warnings: 0,
  failed: 0,
  not_made: 0,
  missed: 0,
  max_lateness_ms: 0,
});

function count(summary: ReturnType<typeof newSummary>, { meta }: ReportedResult): void {
  if (meta.result === "MISSED") {
    summary.missed += 1;
    return;
  }
  summary.calls += 1;
  summary[countedAs(meta.result)] += 1;
}

const factsOfCall = ({ id, meta, timing }: ReportedResult, { calls }: Tick) => ({
  call_id: meta.call_id,
  call_name: calls.find(({ result_id }) => result_id === id)?.name,
  deployment_id: meta.deployment_id,
  result_id: id,
  ...(meta.workflow_result_id !== null && { workflow_result_id: meta.workflow_result_id }),
  result: meta.result,
  http_code: meta.http_code,
  latency_ms: timing.total,
});

const factsOfWorkflow = ({ id, meta, counts }: WorkflowResult) => ({
  workflow_id: meta.workflow_id,
  workflow_name: meta.name,
  deployment_id: meta.deployment_id,
  workflow_result_id: id,
  result: meta.result,
  ...counts,
});
