// The port of the open side of the ledger: runs without an outcome.
import type { DueRun } from "../../model/slots.ts";
import type { TargetKind, Trigger } from "../../model/tick.ts";
import type { Page } from "./document-store.ts";

/** A run that was ordered and has no outcome yet. */
export interface PendingRun extends DueRun {
  readonly result_id: string;
  readonly trigger: Trigger;
  readonly deployment_id: string | null;
  readonly target_id: string;
  readonly target_kind: TargetKind;
  readonly location_id: string;
  readonly owner: string;
  readonly context: Readonly<Record<string, unknown>>;
  /** Seconds; of no account where the target is a call. */
  readonly between_calls_delay: number;
  /** What a workflow's run calls, in order; null for a call, and until the run is planned. */
  readonly call_ids: readonly string[] | null;
  /** No outcome by then: the run is MISSED. */
  readonly expires_at: number;
}

/** What a workflow's run is going to do: its report must say the same. */
export type RunPlan = Pick<PendingRun, "result_id" | "expires_at"> & {
  readonly call_ids: readonly string[];
};

export interface UnpublishedRun extends PendingRun {
  /** Left to the beat by whoever ordered it. */
  readonly held_back: boolean;
}

export interface ExpiredRun extends PendingRun {
  /** Whether its tick was handed to the bus. */
  readonly published: boolean;
}

export interface PendingRunStore {
  /** Those that have neither a pending row nor a result yet. Returns the runs that were new. */
  insert(runs: readonly PendingRun[]): Promise<PendingRun[]>;
  get(resultId: string): Promise<PendingRun | undefined>;
  /** Once a run: a plan that it has stays. */
  plan(plans: readonly RunPlan[]): Promise<void>;
  /**
   * Those due before the instant, oldest first, that come after the given one; without those of a
   * deployment whose earlier run of the workflow is published and has no outcome yet.
   */
  listUnpublished(
    dueBefore: number,
    limit: number,
    after?: Pick<PendingRun, "due_time" | "result_id">,
  ): Promise<UnpublishedRun[]>;
  /** Those due before the instant that `listUnpublished` leaves out, oldest first. */
  listOverlapped(dueBefore: number, limit: number): Promise<PendingRun[]>;
  markHeldBack(resultIds: readonly string[]): Promise<void>;
  markPublished(resultIds: readonly string[]): Promise<void>;
  /** For a bus that forgot: everything still pending is published again. */
  markAllUnpublished(): Promise<void>;
  /** Those that expired before the instant, oldest first. */
  listExpired(before: number, limit: number): Promise<ExpiredRun[]>;
  remove(resultId: string): Promise<void>;
  /** Of a call or a workflow, in creation order. */
  listOfCall(callId: string, page: Page): Promise<PendingRun[]>;
}
