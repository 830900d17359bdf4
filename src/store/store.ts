// The store, composed of its parts. The file of each part states what the part promises; the
// records that go in and come out are in records.ts.
import { createAgentStore } from "./agents.ts";
import type { AgentStore } from "./agents.ts";
import { createApiKeyStore } from "./api-keys.ts";
import type { ApiKeyStore } from "./api-keys.ts";
import { createAuditStore } from "./audit.ts";
import type { AuditStore } from "./audit.ts";
import { createCallOverviewStore } from "./call-overview.ts";
import type { CallOverviewStore } from "./call-overview.ts";
import type { Database } from "./database.ts";
import { inTransaction } from "./database.ts";
import { createDocumentStore } from "./documents.ts";
import type { DocumentStore, Sealing } from "./documents.ts";
import { createFleetStore } from "./fleet.ts";
import type { FleetStore } from "./fleet.ts";
import { createAnswerStore } from "./kept-answers.ts";
import type { AnswerStore } from "./kept-answers.ts";
import { createInsightStore } from "./insights.ts";
import type { InsightStore } from "./insights.ts";
import { createLeaseStore } from "./leases.ts";
import type { LeaseStore } from "./leases.ts";
import { createLocationStore } from "./locations.ts";
import type { LocationStore } from "./locations.ts";
import { createMasterKeyStore } from "./master-keys.ts";
import type { MasterKeyStore } from "./master-keys.ts";
import { createPendingRunStore } from "./pending-runs.ts";
import type { PendingRunStore } from "./pending-runs.ts";
import { createRecordedStore } from "./recorded.ts";
import type { RecordedStore } from "./recorded.ts";
import { createRenewalStore } from "./renewals.ts";
import type { RenewalStore } from "./renewals.ts";
import { createResultStore, createWorkflowResultStore } from "./results.ts";
import type { ResultStore, WorkflowResultStore } from "./results.ts";
import { createRetentionStore } from "./retention.ts";
import type { RetentionStore } from "./retention.ts";
import { createSessionStore } from "./sessions.ts";
import type { SessionStore } from "./sessions.ts";
import { createScheduleStore } from "./schedules.ts";
import type { ScheduleStore } from "./schedules.ts";
import { createSlotStore } from "./slots.ts";
import type { SlotStore } from "./slots.ts";
import { createUsageStore } from "./usage.ts";
import type { UsageStore } from "./usage.ts";
import { createStatCheckStore } from "./stat-checks.ts";
import type { StatCheckStore } from "./stat-checks.ts";
import { createStatStore } from "./stats.ts";
import type { StatStore } from "./stats.ts";

/** Every method may reject with `unavailable`. */
export interface Store {
  readonly documents: DocumentStore;
  readonly schedules: ScheduleStore;
  readonly slots: SlotStore;
  readonly pendingRuns: PendingRunStore;
  readonly results: ResultStore;
  readonly workflowResults: WorkflowResultStore;
  readonly recorded: RecordedStore;
  readonly callOverview: CallOverviewStore;
  readonly stats: StatStore;
  readonly statChecks: StatCheckStore;
  readonly insights: InsightStore;
  readonly retention: RetentionStore;
  readonly apiKeys: ApiKeyStore;
  readonly sessions: SessionStore;
  readonly locations: LocationStore;
  readonly agents: AgentStore;
  readonly leases: LeaseStore;
  readonly renewals: RenewalStore;
  readonly usage: UsageStore;
  readonly fleet: FleetStore;
  readonly audit: AuditStore;
  readonly answers: AnswerStore;
  readonly masterKeys: MasterKeyStore;

  /**
   * Commits everything or nothing. The store handed to `work` belongs to the transaction; the outer
   * one must not be used inside.
   */
  transaction<T>(work: (store: Store) => Promise<T>): Promise<T>;
  /** The database server's clock; the system's without a server. */
  now(): Promise<number>;
  ping(): Promise<void>;
  close(): Promise<void>;
}

export const createStore = (database: Database, sealing: Sealing): Store =>
  Object.assign(createParts(database, sealing), {
    transaction: <T>(work: (store: Store) => Promise<T>) =>
      inTransaction(database, (transaction) => work(createStore(transaction, sealing))),
    now: () => database.timeOf(database.kysely),
    async ping() {
      await database.kysely.selectFrom("leases").select("name").limit(1).execute();
    },
    close: () => database.kysely.destroy(),
  });

type Parts = Omit<Store, "transaction" | "now" | "ping" | "close">;

/** Creates a part when it is used, unless it is small: most transactions use one or two. */
const createParts = (database: Database, sealing: Sealing): Parts => ({
  get documents() {
    return createDocumentStore(database, sealing);
  },
  get schedules() {
    return createScheduleStore(database);
  },
  get slots() {
    return createSlotStore(database);
  },
  get pendingRuns() {
    return createPendingRunStore(database);
  },
  get results() {
    return createResultStore(database);
  },
  get workflowResults() {
    return createWorkflowResultStore(database);
  },
  recorded: createRecordedStore(database),
  callOverview: createCallOverviewStore(database),
  get stats() {
    return createStatStore(database);
  },
  get statChecks() {
    return createStatCheckStore(database);
  },
  get insights() {
    return createInsightStore(database);
  },
  get retention() {
    return createRetentionStore(database);
  },
  get apiKeys() {
    return createApiKeyStore(database);
  },
  sessions: createSessionStore(database),
  get locations() {
    return createLocationStore(database);
  },
  get agents() {
    return createAgentStore(database);
  },
  leases: createLeaseStore(database),
  renewals: createRenewalStore(database),
  usage: createUsageStore(database),
  fleet: createFleetStore(database),
  audit: createAuditStore(database),
  get answers() {
    return createAnswerStore(database, sealing.sealer);
  },
  get masterKeys() {
    return createMasterKeyStore(database, sealing.sealer);
  },
});
