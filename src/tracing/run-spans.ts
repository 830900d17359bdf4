// The spans of a run: its dispatch, the agent's work, and the record of its outcome. They are built
// afterwards, from ticks and reports: no call waits for them. None has a path, query, header or
// body.
import { parseInstant } from "../model/instant.ts";
import type { ReportedResult, RunReport } from "../model/result.ts";
import type { Tick } from "../model/tick.ts";
import { PHASES } from "../model/timing.ts";
import type { Phase, ReportedTiming } from "../model/timing.ts";
import { callPart, spanIdOf, traceIdOf } from "../runtime/span-ids.ts";
import type { SpanFacts } from "../runtime/tracing.ts";

/** Epoch milliseconds. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Only `tls` is renamed, as in the metrics of calls. */
const PHASE_NAMES: Partial<Record<Phase, string>> = { handshake: "tls" };

/** Returns a span with ids derived from the run's. `at`: its own part and its parent's. */
function spanOf(
  runId: string,
  at: { readonly part: string; readonly parent?: string },
  span: Omit<SpanFacts, "traceId" | "spanId" | "parentId" | "isFailed"> & { isFailed?: boolean },
): SpanFacts {
  return {
    traceId: traceIdOf(runId),
    spanId: spanIdOf(runId, at.part),
    parentId: at.parent === undefined ? undefined : spanIdOf(runId, at.parent),
    isFailed: false,
    ...span,
  };
}

/** Returns the root span: publishing the run's tick on the bus. */
export const dispatchSpan = (tick: Tick, span: Span): SpanFacts =>
  spanOf(
    tick.result_id,
    { part: "dispatch" },
    {
      name: "dispatch",
      kind: "producer",
      ...span,
      attributes: {
        "sonde.role": tick.trigger === "SCHEDULE" ? "scheduler" : "api",
        "sonde.run_id": tick.result_id,
        "sonde.trigger": tick.trigger,
        "sonde.due_time": new Date(tick.due_time).toISOString(),
        "sonde.deployment_id": tick.deployment_id,
        "sonde.location_id": tick.location_id,
        "sonde.workflow_id": tick.workflow?.workflow_id,
        "sonde.call_id": tick.workflow ? undefined : tick.calls[0]?.call_id,
      },
    },
  );

/**
 * Returns what the aggregator adds: the agent's spans, and its own, from the report's arrival on.
 */
export function reportSpans(report: RunReport, recorded: Span): SpanFacts[] {
  const { run_id } = report;
  const [run, ...calls] = agentSpans(report);
  const record = spanOf(
    run_id,
    { part: "record", parent: "run" },
    {
      name: "record",
      kind: "consumer",
      ...recorded,
      attributes: { "sonde.role": "aggregator", "sonde.run_id": run_id },
    },
  );
  return run ? [run, ...calls, record] : [record];
}

/** Returns the spans of the run, and of the calls that it made. */
function agentSpans({ run_id, agent_id, location_id, results, workflow }: RunReport): SpanFacts[] {
  const meta = workflow?.meta ?? results[0]?.meta;
  if (!meta) return [];
  const start = instant(meta.start_time ?? meta.due_time);
  const run = spanOf(
    run_id,
    { part: "run", parent: "dispatch" },
    {
      name: "run",
      kind: "consumer",
      start,
      end: instant(meta.end_time ?? meta.start_time ?? meta.due_time),
      attributes: {
        "sonde.role": "agent",
        "sonde.run_id": run_id,
        "sonde.agent_id": agent_id,
        "sonde.location_id": location_id,
        "sonde.deployment_id": meta.deployment_id,
        "sonde.workflow_id": workflow?.meta.workflow_id,
        "sonde.result": meta.result,
      },
      isFailed: meta.result !== "COMPLETE",
    },
  );
  return [run, ...results.flatMap((result) => callSpans(run_id, result))];
}

const instant = (text: string): number => parseInstant(text) ?? 0;

/** Returns the spans of the call, its redirects and its phases; none if no call was made. */
function callSpans(runId: string, result: ReportedResult): SpanFacts[] {
  const { id, meta, timing, hops } = result;
  if (meta.start_time === null || timing.total === null) return [];
  const start = instant(meta.start_time);
  const part = callPart(id);
  const call = spanOf(
    runId,
    { part, parent: "run" },
    {
      name: result.request?.method ?? "HTTP",
      kind: "client",
      start,
      end: start + timing.total,
      attributes: attributesOf(result),
      isFailed: meta.result_category !== "PASS",
    },
  );
  const spans = [call];
  let at = start;
  for (const [n, hop] of hops.entries()) {
    const hopPart = `${part} hop ${n}`;
    const end = at + (hop.timing.total ?? 0);
    spans.push(
      spanOf(
        runId,
        { part: hopPart, parent: part },
        {
          name: "redirect",
          kind: "internal",
          start: at,
          end,
          attributes: { "http.response.status_code": hop.http_code, ...serverOf(hop.url) },
        },
      ),
      ...phaseSpans(runId, hopPart, hop.timing, at),
    );
    at = end;
  }
  return [...spans, ...phaseSpans(runId, part, timing, at)];
}

/** Each phase starts where the previous one ends. */
function phaseSpans(
  runId: string,
  parent: string,
  timing: ReportedTiming,
  start: number,
): SpanFacts[] {
  const spans: SpanFacts[] = [];
  let at = start;
  for (const phase of PHASES) {
    const ms = timing[phase];
    if (ms === null) continue;
    const name = PHASE_NAMES[phase] ?? phase;
    const [began, end] = [at, (at += ms)];
    spans.push(
      spanOf(
        runId,
        { part: `${parent} ${phase}`, parent },
        { name, kind: "internal", start: began, end, attributes: {} },
      ),
    );
  }
  return spans;
}

/** Follows OpenTelemetry's conventions for HTTP clients, and adds our own attributes. */
const attributesOf = ({ id, meta, timing, request }: ReportedResult): SpanFacts["attributes"] => ({
  "http.request.method": request?.method,
  "http.response.status_code": meta.http_code,
  ...serverOf(meta.url),
  "network.peer.address": meta.dest_ip,
  "error.type": meta.result_category === "PASS" ? undefined : meta.result,
  "sonde.call_id": meta.call_id,
  "sonde.result_id": id,
  "sonde.result": meta.result,
  "sonde.uncertainty_ms": timing.uncertainty,
});

function serverOf(url: string): SpanFacts["attributes"] {
  if (!URL.canParse(url)) return {};
  const { hostname, port, protocol } = new URL(url);
  const usual = protocol === "https:" ? 443 : 80;
  return { "server.address": hostname, "server.port": port === "" ? usual : Number(port) };
}
