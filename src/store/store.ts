// What the roles see of the store; ports/ holds its parts. Every method may reject with
// `unavailable` while the database cannot be used. Times are epoch milliseconds.
import type { AnswerStore } from "./ports/answer-store.ts";
import type { AuditStore } from "./ports/audit-store.ts";
import type { DocumentStore } from "./ports/document-store.ts";
import type { ScheduleStore } from "./ports/schedule-store.ts";
import type { PendingRunStore } from "./ports/run-store.ts";
import type { ResultStore, WorkflowResultStore } from "./ports/result-store.ts";
import type { StatStore } from "./ports/stat-store.ts";
import type { ApiKeyStore } from "./ports/api-key-store.ts";
import type { LocationStore } from "./ports/location-store.ts";
import type { RenewalStore } from "./ports/renewal-store.ts";
import type { LeaseStore } from "./ports/lease-store.ts";
import type { MasterKeyStore } from "./ports/master-key-store.ts";

export interface Store {
  readonly documents: DocumentStore;
  readonly schedules: ScheduleStore;
  readonly pendingRuns: PendingRunStore;
  readonly results: ResultStore;
  readonly workflowResults: WorkflowResultStore;
  readonly stats: StatStore;
  readonly apiKeys: ApiKeyStore;
  readonly locations: LocationStore;
  readonly leases: LeaseStore;
  readonly renewals: RenewalStore;
  readonly audit: AuditStore;
  readonly answers: AnswerStore;
  readonly masterKeys: MasterKeyStore;

  /**
   * All or nothing. The store handed to `work` is of the transaction; the outer one must not be
   * used inside.
   */
  transaction<T>(work: (store: Store) => Promise<T>): Promise<T>;
  /** The database server's clock; the system's where there is no server. */
  now(): Promise<number>;
  ping(): Promise<void>;
  close(): Promise<void>;
}
