// What the roles see of the store. Every method may reject with `unavailable` while the database cannot be reached.
// Times are epoch milliseconds.
import type { AccessLevel, Owned, Principal } from "../model/access.ts";
import type { FilterField, ResourceKind } from "../model/resource.ts";
import type { DueRun, Timing } from "../model/slots.ts";
import type { PeriodKind } from "../model/periods.ts";
import type { PeriodSummaries } from "../model/stat.ts";
import type {
  RawResult,
  Result,
  ResultCode,
  RunReport,
} from "../model/result.ts";
import type { Trigger } from "../model/tick.ts";
import type { Heartbeat, Location } from "../model/location.ts";

export interface Store {
  readonly documents: DocumentStore;
  readonly schedules: ScheduleStore;
  readonly pendingRuns: PendingRunStore;
  readonly results: ResultStore;
  readonly stats: StatStore;
  readonly apiKeys: ApiKeyStore;
  readonly locations: LocationStore;
  readonly leases: LeaseStore;

  /** All or nothing. The store handed to `work` is of the transaction; the outer one must not be used inside. */
  transaction<T>(work: (store: Store) => Promise<T>): Promise<T>;
  /** The database server's clock; the system's where there is no server. */
  now(): Promise<number>;
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** Rows after `after` (exclusive; "" is the start) in creation order, at most `limit`. */
export interface Page {
  readonly after: string;
  readonly limit: number;
}

/** An owned resource: its JSON document, and what access to it depends on. */
export interface StoredDocument<D = unknown> extends Owned {
  readonly id: string;
  readonly kind: ResourceKind;
  readonly document: D;
}

export interface NewDocument extends StoredDocument {
  readonly filters: Partial<Record<FilterField, string | null>>;
}

export interface DocumentStore {
  insert(document: NewDocument): Promise<void>;
  /** Locks the row until the end of the transaction, so that concurrent updates follow one another. */
  getForUpdate(
    kind: ResourceKind,
    id: string,
  ): Promise<StoredDocument | undefined>;
  get(kind: ResourceKind, id: string): Promise<StoredDocument | undefined>;
  getMany(
    kind: ResourceKind,
    ids: readonly string[],
  ): Promise<StoredDocument[]>;
  replace(document: NewDocument): Promise<void>;
  remove(kind: ResourceKind, id: string): Promise<void>;
  /** Those that `reader` may read, by an index on either database. */
  list(
    kind: ResourceKind,
    reader: Principal,
    filters: Partial<Record<FilterField, string>>,
    page: Page,
  ): Promise<StoredDocument[]>;
  /** Every document of the kind with this filter value, whoever owns it. */
  listAll(
    kind: ResourceKind,
    filter: FilterField,
    value: string,
  ): Promise<StoredDocument[]>;
}

/** A deployment's schedule, as long as it held: for triggers from `active_from` until before `active_until`. */
export interface Schedule extends Timing {
  readonly deployment_id: string;
  readonly owner: string;
  readonly target_id: string;
  readonly location_id: string;
  readonly active_from: number;
}

export interface StoredSchedule extends Schedule {
  readonly active_until: number;
}

export interface ScheduleStore {
  /** The schedule holds from its first trigger at or after `active_from`; the one before it ends there. */
  set(schedule: Schedule): Promise<void>;
  /** No trigger of the deployment runs any more, not even one that passed and whose delay has not. */
  remove(deploymentId: string): Promise<void>;
  /** Those whose run is due in the slot, and whose trigger for it is within their time. */
  due(slot: number): Promise<StoredSchedule[]>;
  /** Those that became active at or after `since`: the beat of their first slots may have passed already. */
  startedSince(since: number): Promise<StoredSchedule[]>;
  /** When the oldest schedule became active; undefined when there is none. */
  earliestStart(): Promise<number | undefined>;
  /** Forgets schedules that ended before the instant. */
  prune(before: number): Promise<void>;
}

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

/** What became of reports that were handed over to be recorded. */
export interface Recorded {
  /** Counted for the first time. */
  readonly recorded: number;
  /** Of those, outcomes that replaced a MISSED. */
  readonly late: number;
  /** Had been counted before. */
  readonly duplicate: number;
  /** Of runs that nobody ordered, or by an agent of another location: not stored. */
  readonly unknown: number;
}

export interface ResultStore {
  /** One transaction: stores each report's results once, removes the pending runs, folds the summaries. */
  record(reports: readonly RunReport[]): Promise<Recorded>;
  /** One transaction, by the same rules; a run that has an outcome keeps it. Returns how many are new. */
  recordMissed(runs: readonly MissedRun[]): Promise<number>;
  get(id: string): Promise<Result | undefined>;
  /** In creation order; runs without an outcome are not among them. */
  listOfCall(callId: string, page: Page): Promise<Result[]>;
}

export interface MissedRun {
  readonly run: PendingRun;
  /** `MISSED`, or `UNABLE_TO_RUN` where there is nothing to run. */
  readonly result: "MISSED" | "UNABLE_TO_RUN";
  readonly message: string;
}

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

export interface StatStore {
  period(query: StatQuery, time: number): Promise<PeriodSummaries>;
  /**
   * Periods with calls of these codes: forwards from the one that starts at `from`, oldest first, or backwards from it,
   * newest first; both inclusive.
   */
  periods(
    query: StatQuery,
    codes: readonly ResultCode[],
    from: number,
    direction: Direction,
    limit: number,
  ): Promise<PeriodRow[]>;
  /** Single results with these codes from `from` (inclusive) on; `afterId` excludes those at `from` up to that id. */
  raw(
    query: Omit<StatQuery, "kind">,
    codes: readonly ResultCode[],
    from: { readonly time: number; readonly afterId: string | null },
    direction: Direction,
    limit: number,
  ): Promise<RawEntry[]>;
  /** The raw rows of a period, to compute its statistics anew. */
  rawOfPeriod(query: StatQuery, time: number): Promise<RawResult[]>;
}

export interface ApiKey extends Principal {
  readonly created: number;
  readonly last_update: number;
  readonly revoked: boolean;
}

export interface ApiKeyStore {
  /** False when there is a key with this id already. */
  insert(key: ApiKey, hash: string): Promise<boolean>;
  /** Undefined for an unknown or revoked key. */
  findByHash(hash: string): Promise<ApiKey | undefined>;
  /** Of one owner, or of all; revoked ones are left out. */
  list(owner: string | null, page: Page): Promise<ApiKey[]>;
  /** False when there was no such key in force. `owner` null: anyone's. */
  revoke(id: string, owner: string | null, now: number): Promise<boolean>;
  /** Revoked ones included. */
  count(): Promise<number>;
}

export interface StoredLocation extends Location {
  readonly created: number;
}

export interface StoredAgent extends Heartbeat {
  /** When its latest heartbeat was received. */
  readonly last_seen: number;
}

export interface LocationStore {
  /** False when there is one already. */
  insert(location: StoredLocation): Promise<boolean>;
  /** Oldest first: the first is the default location. */
  list(): Promise<StoredLocation[]>;
  recordHeartbeat(heartbeat: Heartbeat, now: number): Promise<void>;
  listAgents(): Promise<StoredAgent[]>;
}

/** The right of one process to move a cursor, until it expires. `fence` grows with each new holder. */
export interface Lease {
  readonly name: string;
  readonly holder: string;
  readonly fence: number;
  readonly expires_at: number;
  /** The newest slot that was opened; null before the first. */
  readonly cursor: number | null;
}

export interface LeaseStore {
  /**
   * Takes the lease when it is free, expired, held already by `holder`, or expires far further ahead than `ttlMs`
   * allows (the clock was set back). Undefined while another holds it.
   */
  acquire(
    name: string,
    holder: string,
    now: number,
    ttlMs: number,
  ): Promise<Lease | undefined>;
  /** Moves the cursor if the lease still has this fence and cursor; false when another took over. */
  advance(lease: Lease, cursor: number): Promise<boolean>;
  /** Free for the next holder at once. */
  release(lease: Lease): Promise<void>;
}

export type { AccessLevel };
