// The port of the closed side of the ledger: outcomes of runs.
import type { Content } from "../../model/content.ts";
import type { Result, RunReport, WorkflowResult } from "../../model/result.ts";
import type { Page } from "./document-store.ts";
import type { PendingRun } from "./run-store.ts";

/** What became of reports that were handed over to be recorded: as many as there were. */
export interface Recorded {
  /** Counted for the first time. */
  readonly recorded: number;
  /** Of those, outcomes that replaced a MISSED. */
  readonly late: number;
  /** Had been counted before. */
  readonly duplicate: number;
  /**
   * Of runs that nobody ordered, of other calls than were ordered, or by an agent of another
   * location: not stored.
   */
  readonly unknown: number;
}

export interface ResultStore {
  /**
   * One transaction: stores each report's results once, a workflow's with its own, removes the
   * pending runs, folds the summaries.
   */
  record(reports: readonly RunReport[]): Promise<Recorded>;
  /**
   * One transaction, by the same rules; a run that has an outcome keeps it. Returns how many are
   * new.
   */
  recordMissed(runs: readonly MissedRun[]): Promise<number>;
  get(id: string): Promise<Result | undefined>;
  /** The body of the response; undefined where none was kept. */
  content(id: string): Promise<Content | undefined>;
  /** Those that there are, in the order of their ids in the list. */
  getMany(ids: readonly string[]): Promise<Result[]>;
  /** In creation order; runs without an outcome are not among them. */
  listOfCall(callId: string, page: Page): Promise<Result[]>;
}

/** Of runs of workflows as a whole; written by `ResultStore`. */
export interface WorkflowResultStore {
  get(id: string): Promise<WorkflowResult | undefined>;
  /** In creation order; runs without an outcome are not among them. */
  listOfWorkflow(workflowId: string, page: Page): Promise<WorkflowResult[]>;
  /** The newest one of a deployment that an agent carried out. */
  latestOfDeployment(deploymentId: string): Promise<WorkflowResult | undefined>;
}

export interface MissedRun {
  readonly run: PendingRun;
  /** `MISSED`, or `UNABLE_TO_RUN` where there is nothing to run. */
  readonly result: "MISSED" | "UNABLE_TO_RUN";
  readonly message: string;
}
