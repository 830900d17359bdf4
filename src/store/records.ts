// The records stored and returned by the store. Times are epoch milliseconds.
import type { Owned, Ownership, Principal } from "../model/access.ts";
import type { Location } from "../model/location.ts";
import type { KeyState } from "../model/location-key.ts";
import type { FilterField, ResourceKind } from "../model/resource.ts";
import type { ResultCode } from "../model/result.ts";
import type { Cadence, DueRun } from "../model/slots.ts";
import type { PeriodSummaries } from "../model/stat.ts";
import type { PeriodKind } from "../model/periods.ts";
import type { TargetKind, Trigger } from "../model/tick.ts";

/** Rows after `after` (exclusive; "" is the start) in creation order, at most `limit`. */
export interface Page {
  readonly after: string;
  readonly limit: number;
}

/** Results of one target on a page; without a filter, all of them. */
export interface ResultPage extends Page {
  /** The order of creation; asc by default. */
  readonly order?: "asc" | "desc" | undefined;
  readonly codes?: readonly ResultCode[] | undefined;
  readonly location_id?: string | undefined;
  /** The results whose time in statistics is in this range: `from` inclusive, `to` exclusive. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

// Owned resources

/** A resource's JSON document, and the fields that determine access to it. */
export interface StoredDocument<D = unknown> extends Owned {
  readonly id: string;
  readonly kind: ResourceKind;
  readonly document: D;
  /** Why its secrets, null here, cannot be opened: the row was tampered with, or a key is gone. */
  readonly unreadable?: Error;
}

/** By id. */
export type Documents = ReadonlyMap<string, StoredDocument>;

export interface NewDocument extends StoredDocument {
  readonly filters: Partial<Record<FilterField, string | null>>;
  /** The calls that it names, for kinds that name several. */
  readonly callIds?: readonly string[];
}

export type Filters = Partial<Record<FilterField | "call_id", string>>;

/** An environment variable, without its value. */
export interface StoredVariable {
  readonly id: string;
  readonly name: string;
  /** Of its document, as stored. */
  readonly bytes: number;
}

/** A token that is due for renewal. */
export interface DueToken extends Ownership {
  readonly id: string;
}

// Schedules

/** Applies to triggers from `active_from` until before `active_until`. */
export interface Schedule extends Cadence, Ownership {
  readonly deployment_id: string;
  readonly target_id: string;
  readonly target_kind: TargetKind;
  readonly location_id: string;
  /** Seconds; ignored where the target is a call. */
  readonly between_calls_delay: number;
  readonly active_from: number;
}

export interface StoredSchedule extends Schedule {
  readonly active_until: number;
}

/**
 * The right of one process to move a cursor, until it expires. `fence` grows with each new holder.
 */
export interface Lease {
  readonly name: string;
  readonly holder: string;
  readonly fence: number;
  readonly expires_at: number;
  /** The position of the work: for the scheduler, the newest open slot. Null at first. */
  readonly cursor: number | null;
}

/** A slot that is not fully open: its runs that were late when `opened`, or the others. */
export interface Opening {
  readonly slot: number;
  /** When the cursor passed it. */
  readonly opened: number;
  readonly late: boolean;
}

/** A place among the schedules of one key, which are ordered by these fields. */
export type Position = Pick<Schedule, "run_delay" | "deployment_id">;

/** The schedules with this key from `after` (exclusive) to `until` (inclusive). */
export interface OpeningPage extends Opening {
  readonly slot_key: number;
  readonly after: Position;
  readonly until: Position;
}

// The ledger

/** An ordered run without an outcome. */
export interface PendingRun extends DueRun, Ownership {
  readonly result_id: string;
  readonly trigger: Trigger;
  readonly deployment_id: string | null;
  readonly target_id: string;
  readonly target_kind: TargetKind;
  readonly location_id: string;
  readonly context: Readonly<Record<string, unknown>>;
  /** Seconds; ignored where the target is a call. */
  readonly between_calls_delay: number;
  /** The calls of a workflow's run, in order; null for a call, and until the run is planned. */
  readonly call_ids: readonly string[] | null;
  /** Without an outcome by then, the run is MISSED. */
  readonly expires_at: number;
}

/** The calls that a workflow's run will make: its report must name the same. */
export type RunPlan = Pick<PendingRun, "result_id" | "expires_at"> & {
  readonly call_ids: readonly string[];
};

export interface UnpublishedRun extends PendingRun {
  /** Left to the beat on ordering: its token was about to be renewed. */
  readonly held_back: boolean;
  /** Its deployment was deleted while its slot was opened: no schedule triggers it. */
  readonly is_deleted: boolean;
}

export interface ExpiredRun extends PendingRun {
  /** Whether its tick was handed to the bus. */
  readonly published: boolean;
}

export interface UnreportedOutcome {
  readonly run: PendingRun;
  /** `MISSED`, or `UNABLE_TO_RUN` where there is nothing to run. */
  readonly result: "MISSED" | "UNABLE_TO_RUN";
  readonly message: string;
}

/** How many reports of a batch were recorded, and how many were not. */
export interface Recorded {
  /** Counted for the first time. */
  readonly recorded: number;
  /** Of these, the ones that replaced a MISSED. */
  readonly late: number;
  /** Had been counted before. */
  readonly duplicate: number;
  /** Not stored: their run was not ordered, or with other calls, or at another location. */
  readonly unknown: number;
}

// Statistics

export interface StatQuery {
  readonly call_id: string;
  readonly kind: PeriodKind;
  /** Null: all locations together. */
  readonly location_id: string | null;
}

export interface PeriodRow {
  readonly time: number;
  readonly summaries: PeriodSummaries;
}

/** An entry of RAW statistics. */
export interface RawEntry {
  readonly id: string;
  readonly time: number;
  readonly latency: number | null;
  readonly http_code: number | null;
  readonly content_length: number | null;
}

export type Direction = "forwards" | "backwards";

// Locations, keys, the audit trail, kept answers

export interface StoredLocation extends Location, KeyState {
  readonly created: number;
  /** When it was removed; null if it was not. */
  readonly removed: number | null;
}

export interface ApiKey extends Principal {
  /** What the key is for; null if its issuer did not say. */
  readonly name: string | null;
  readonly created: number;
  readonly last_update: number;
  readonly revoked: boolean;
}

/** An open session of the web pages, and its key. */
export interface Session {
  readonly key: ApiKey;
  readonly created: number;
  readonly last_used: number;
}

/** A session has ended if it was last used before `used`, or opened before `created`. */
export interface SessionBounds {
  readonly used: number;
  readonly created: number;
}

/** The answer to a request, kept in case the request is repeated. */
export interface KeptAnswer {
  /** Identifies the request's body. */
  readonly fingerprint: string;
  readonly answer: unknown;
}

/** Progress of a rotation of the master key. */
export interface RotationStep {
  /** A kind of resource, or `kept answers`. */
  readonly what: string;
  /** So far. */
  readonly checked: number;
  readonly resealed: number;
}

/** Pending runs of one location. */
export interface PendingAt {
  readonly location_id: string;
  readonly runs: number;
  /** When the oldest was due. */
  readonly oldest_due: number;
}

/** A call as its metrics show it. */
export interface MonitoredCall {
  readonly id: string;
  readonly name: string;
  /** Whether it opted out of metrics. */
  readonly isHidden: boolean;
}
