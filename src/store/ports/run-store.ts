// The port of the open side of the ledger: runs without an outcome.
import type { DueRun } from "../../model/slots.ts";
import type { Trigger } from "../../model/tick.ts";
import type { Page } from "./document-store.ts";

/** A run that was ordered and has no outcome yet. */
export interface PendingRun extends DueRun {
  readonly result_id: string;
  readonly trigger: Trigger;
  readonly deployment_id: string | null;
  readonly target_id: string;
  readonly location_id: string;
  readonly owner: string;
  readonly context: Readonly<Record<string, unknown>>;
  /** No outcome by then: the run is MISSED. */
  readonly expires_at: number;
}

export interface ExpiredRun extends PendingRun {
  /** Whether its tick was handed to the bus. */
  readonly published: boolean;
}

export interface PendingRunStore {
  /** Those that have neither a pending row nor a result yet. Returns the runs that were new. */
  insert(runs: readonly PendingRun[]): Promise<PendingRun[]>;
  get(resultId: string): Promise<PendingRun | undefined>;
  /** Those due before the instant, oldest first. */
  listUnpublished(dueBefore: number, limit: number): Promise<PendingRun[]>;
  markPublished(resultIds: readonly string[]): Promise<void>;
  /** For a bus that forgot: everything still pending is published again. */
  markAllUnpublished(): Promise<void>;
  /** Those that expired before the instant, oldest first. */
  listExpired(before: number, limit: number): Promise<ExpiredRun[]>;
  remove(resultId: string): Promise<void>;
  /** Of a call, in creation order. */
  listOfCall(callId: string, page: Page): Promise<PendingRun[]>;
}
