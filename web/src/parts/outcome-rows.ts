// The rows of a waterfall: the hops of a call, the steps of a workflow's run.
import type { Result } from "../../../src/model/result.ts";
import type { CallNames } from "../call-names.ts";
import type { Step } from "../steps.ts";
import { redirectsOf } from "./phases.ts";
import { wordOf } from "./run-state.tsx";
import { toneOf } from "../tone.ts";
import type { WaterfallRow } from "./waterfall.tsx";

/** A redirected call has a row for each hop, one after the other. */
export function rowsOfCall(result: Result): WaterfallRow[] {
  const { meta, timing, request, hops } = result;
  let offsetMs = 0;
  const before = hops.map((hop): WaterfallRow => {
    const row = { label: `${hop.http_code ?? ""} ${hop.url}`, offsetMs, timing: hop.timing };
    offsetMs += hop.timing.total ?? 0;
    return row;
  });
  // The total covers all hops, the phases only the last exchange.
  const total = timing.total === null ? null : timing.total - offsetMs;
  const label = `${meta.http_code ?? ""} ${request?.url ?? meta.url}`;
  const redirectsMs = hops.length === 0 ? redirectsOf(result) : 0;
  return [...before, { label, offsetMs, timing: { ...timing, total }, redirectsMs }];
}

/** `isWhole`: no call is missing, so places are those of the workflow. */
export const rowsOfSteps = (
  steps: readonly Step[],
  calls: CallNames,
  isWhole: boolean,
): WaterfallRow[] =>
  steps.map(({ result, place, offsetMs, pauseMs }) => {
    const { id, meta, timing } = result;
    const name = nameOfStep(calls, meta.call_id);
    return {
      label: isWhole ? `${place}. ${name}` : name,
      href: `results/${id}`,
      offsetMs: offsetMs ?? 0,
      pauseMs,
      timing,
      redirectsMs: redirectsOf(result),
      state: toneOf(meta.result, meta.result_category),
      word: meta.http_code === null ? wordOf(meta) : `${meta.http_code} ${wordOf(meta)}`,
      ...(meta.message !== null && { note: meta.message }),
    };
  });

export const nameOfStep = (calls: CallNames, id: string): string =>
  calls === undefined ? "…" : (calls.get(id)?.meta.name ?? "A deleted call");
