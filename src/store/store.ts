// The store, composed of its parts. Each part's file states its promises; records.ts has the
// records.
import { createAgentStore } from "./agents.ts";
import { createApiKeyStore } from "./keys/api-keys.ts";
import { createAuditStore } from "./audit.ts";
import { createCallOverviewStore } from "./documents/call-overview.ts";
import type { Database } from "./database.ts";
import { inTransaction } from "./database.ts";
import { createDocumentStore } from "./documents/documents.ts";
import type { Sealing } from "./documents/documents.ts";
import { createFleetStore } from "./fleet.ts";
import { createInsightStore } from "./insights/insights.ts";
import { createAnswerStore } from "./kept-answers.ts";
import { createLeaseStore } from "./leases.ts";
import { createLocationStore } from "./locations.ts";
import { createMasterKeyStore } from "./keys/master-keys.ts";
import { createMonitoredCallStore } from "./documents/monitored-calls.ts";
import { createPendingRunStore } from "./ledger/pending-runs.ts";
import { createRecordedStore } from "./ledger/recorded.ts";
import { createRenewalStore } from "./documents/renewals.ts";
import { createResultStore, createWorkflowResultStore } from "./ledger/results.ts";
import { createRetentionStore } from "./retention.ts";
import { createScheduleStore } from "./ledger/schedules.ts";
import { createSessionStore } from "./keys/sessions.ts";
import { createSlotStore } from "./ledger/slots.ts";
import { createStatCheckStore } from "./stats/stat-checks.ts";
import { createStatStore } from "./stats/stats.ts";
import { createUsageStore } from "./documents/usage.ts";

const PARTS = {
  documents: createDocumentStore,
  schedules: createScheduleStore,
  slots: createSlotStore,
  pendingRuns: createPendingRunStore,
  results: createResultStore,
  workflowResults: createWorkflowResultStore,
  recorded: createRecordedStore,
  callOverview: createCallOverviewStore,
  stats: createStatStore,
  statChecks: createStatCheckStore,
  insights: createInsightStore,
  retention: createRetentionStore,
  apiKeys: createApiKeyStore,
  sessions: createSessionStore,
  locations: createLocationStore,
  agents: createAgentStore,
  leases: createLeaseStore,
  renewals: createRenewalStore,
  usage: createUsageStore,
  fleet: createFleetStore,
  monitoredCalls: createMonitoredCallStore,
  audit: createAuditStore,
  answers: createAnswerStore,
  masterKeys: createMasterKeyStore,
};

type Parts = { readonly [Name in keyof typeof PARTS]: ReturnType<(typeof PARTS)[Name]> };

/** Every method may reject with `unavailable`. */
export interface Store extends Parts {
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
  Object.assign(partsOf(database, sealing), {
    transaction: <T>(work: (store: Store) => Promise<T>) =>
      inTransaction(database, (transaction) => work(createStore(transaction, sealing))),
    now: () => database.timeOf(database.kysely),
    async ping() {
      await database.kysely.selectFrom("leases").select("name").limit(1).execute();
    },
    close: () => database.kysely.destroy(),
  });

/** Creates a part on each use: most transactions use one or two. */
function partsOf(database: Database, sealing: Sealing): Parts {
  const parts = {} as Parts;
  for (const [name, create] of Object.entries(PARTS))
    Object.defineProperty(parts, name, {
      enumerable: true,
      get: () => create(database, sealing),
    });
  return parts;
}
