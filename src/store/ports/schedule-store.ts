// The port of schedules: when deployments are due.
import type { Timing } from "../../model/slots.ts";
import type { TargetKind } from "../../model/tick.ts";

/**
 * A deployment's schedule, as long as it held: for triggers from `active_from` until before
 * `active_until`.
 */
export interface Schedule extends Timing {
  readonly deployment_id: string;
  readonly owner: string;
  readonly target_id: string;
  readonly target_kind: TargetKind;
  readonly location_id: string;
  /** Seconds; of no account where the target is a call. */
  readonly between_calls_delay: number;
  readonly active_from: number;
}

export interface StoredSchedule extends Schedule {
  readonly active_until: number;
}

export interface ScheduleStore {
  /**
   * The schedule holds from its first trigger at or after `active_from`; the one before it ends
   * there.
   */
  set(schedule: Schedule): Promise<void>;
  /**
   * No slot is opened for the deployment any more, not even for a trigger that passed and whose
   * delay has not. A run that is pending already keeps its place in the ledger, and is carried out.
   */
  remove(deploymentId: string): Promise<void>;
  /** Those whose run is due in the slot, and whose trigger for it is within their time. */
  due(slot: number): Promise<StoredSchedule[]>;
  /**
   * Those that became active at or after `since`: the beat of their first slots may have passed
   * already.
   */
  startedSince(since: number): Promise<StoredSchedule[]>;
  /** When the oldest schedule became active; undefined when there is none. */
  earliestStart(): Promise<number | undefined>;
  /** Forgets schedules that ended before the instant. */
  prune(before: number): Promise<void>;
}
