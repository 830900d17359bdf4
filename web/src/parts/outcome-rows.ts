// The rows of a waterfall: the hops of a call, the steps of a workflow's run.
import type { Result } from "../../../src/model/result.ts";
import type { WorkflowOutcome } from "../runs.ts";
import { toneOf } from "./state.tsx";
import type { WaterfallRow } from "./waterfall.tsx";

/** A call that was redirected has a row for each hop, one after the other. */
export function rowsOfCall({ meta, timing, request, hops }: Result): WaterfallRow[] {
  let offsetMs = 0;
  const before = hops.map((hop): WaterfallRow => {
    const row = { label: `${hop.http_code ?? ""} ${hop.url}`, offsetMs, timing: hop.timing };
    offsetMs += hop.timing.total ?? 0;
    return row;
  });
  // The total is that of all hops, the phases are those of the last exchange.
  const total = timing.total === null ? null : timing.total - offsetMs;
  const label = `${meta.http_code ?? ""} ${request?.url ?? meta.url}`;
  return [...before, { label, offsetMs, timing: { ...timing, total } }];
}

/** Each step from when it began; a step that was not made begins where the one before it did. */
export function rowsOfWorkflow({ results }: Pick<WorkflowOutcome, "results">): WaterfallRow[] {
  const first = Date.parse(results.find(({ meta }) => meta.start_time)?.meta.start_time ?? "");
  let offsetMs = 0;
  return results.map(({ id, meta, timing }) => {
    if (meta.start_time !== null) offsetMs = Math.max(0, Date.parse(meta.start_time) - first);
    return {
      label: meta.url,
      href: `results/${id}`,
      offsetMs,
      timing,
      state: toneOf(meta.result, meta.result_category),
      word: meta.result,
    };
  });
}
