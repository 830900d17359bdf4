// Manual runs of calls and workflows.
import type { Context } from "../../src/model/context.ts";
import { isInFlight } from "../../src/model/result.ts";
import type { ListedResult, Result, WorkflowResult } from "../../src/model/result.ts";
import { send } from "./api.ts";
import { now } from "./now.ts";

export type TargetKind = "call" | "workflow";

export interface Target {
  readonly kind: TargetKind;
  readonly id: string;
  readonly name: string;
}

export interface RunOrder {
  readonly location_id: string;
  readonly context: Readonly<Record<string, string>>;
}

export interface StartedRun {
  readonly result_id: string;
  readonly location_id: string;
  /** Milliseconds since the epoch, by this machine's clock. */
  readonly started: number;
}

export type WorkflowOutcome = WorkflowResult & {
  readonly results: readonly ListedResult[];
  /** Absent from answers of an API process of an earlier version. */
  readonly context?: Context | null;
};
export type Outcome = Result | WorkflowOutcome;

/** Paths are below the API's root. */
const runPath = ({ kind, id }: Target): string =>
  `${kind === "call" ? "calls" : "workflows"}/${encodeURIComponent(id)}/run`;

interface RunAnswer {
  readonly location_id: string;
  readonly result_id?: string;
  readonly workflow_result_id?: string;
}

export async function startRun(target: Target, order: RunOrder): Promise<StartedRun> {
  const started = now();
  const answer = await send<RunAnswer>("POST", runPath(target), { body: order });
  const result_id = answer.result_id ?? answer.workflow_result_id ?? "";
  return { result_id, location_id: answer.location_id, started };
}

/** Returns the path of the outcome below the API's root. */
export const outcomePath = (kind: TargetKind, resultId: string): string =>
  `${kind === "call" ? "results" : "workflows/results"}/${encodeURIComponent(resultId)}/`;

/** Returns the page of the outcome, relative to the document's base. */
export const outcomePage = (kind: TargetKind, resultId: string): string =>
  `${kind === "call" ? "results" : "workflow-results"}/${resultId}`;

export const outcomeKey = (kind: TargetKind, resultId: string): readonly unknown[] => [
  kind === "call" ? "results" : "workflow-results",
  resultId,
];

export const isEnded = (outcome: Outcome | undefined): outcome is Outcome =>
  outcome !== undefined && !isInFlight(outcome.meta);
