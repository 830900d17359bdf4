// The outcome of a run that no agent carried out.
import type { Result, WorkflowResult } from "../model/result.ts";
import { unmadeResult, unmadeWorkflowResult } from "../model/unmade-result.ts";
import type { MissedRun } from "./ports/result-store.ts";

export const missedResult = ({ run, ...outcome }: MissedRun): Result =>
  unmadeResult(run, outcome, { domain: "", url: "" });

export const missedWorkflow = ({ run, ...outcome }: MissedRun): WorkflowResult =>
  unmadeWorkflowResult(run, outcome, { name: "" });
