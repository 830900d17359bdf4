// Recorded outcomes, as passed to listeners.
import type { ResultCode } from "./result.ts";

/** A place in the sequence of recorded outcomes, in commit order. */
export interface RecordedPlace {
  /** On PostgreSQL, the number of the transaction. */
  readonly xact: number;
  readonly seq: number;
}

/** The place before everything. */
export const RECORDED_FROM_START: RecordedPlace = { xact: 0, seq: 0 };

/** What one transaction recorded. */
export interface RecordedBatch {
  readonly place: RecordedPlace;
  readonly outcomes: readonly RecordedOutcome[];
}

export interface RecordedOutcome {
  readonly result_id: string;
  /** Null for the outcome of a workflow's run as a whole. */
  readonly call_id: string | null;
  readonly workflow_id: string | null;
  readonly workflow_result_id: string | null;
  readonly location_id: string;
  readonly deployment_id: string | null;
  readonly result: ResultCode;
  /** When it started, or when it was due if it did not. */
  readonly time: number;
  /** Milliseconds. */
  readonly latency: number | null;
  readonly is_late: boolean;
}
