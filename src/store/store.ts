// The store, composed of its parts. Each part's file states its promises; records.ts has the
// records.
import { sql } from "kysely";
import { createAgentStore } from "./agents.ts";
import { createAuditStore } from "./audit.ts";
import type { Database } from "./database.ts";
import { inTransaction } from "./database.ts";
import { createCallOverviewStore } from "./documents/call-overview.ts";
import { createDocumentStore } from "./documents/documents.ts";
import type { Sealing } from "./documents/documents.ts";
import { createMonitoredCallStore } from "./documents/monitored-calls.ts";
import { createRenewalStore } from "./documents/renewals.ts";
import { createUsageStore } from "./documents/usage.ts";
import { createFleetStore } from "./fleet.ts";
import { createInsightStore } from "./insights/insights.ts";
import { createAnswerStore } from "./kept-answers.ts";
import { createApiKeyStore } from "./keys/api-keys.ts";
import { createMasterKeyStore } from "./keys/master-keys.ts";
import { createSessionStore } from "./keys/sessions.ts";
import { createLeaseStore } from "./leases.ts";
import { createPendingRunStore } from "./ledger/pending-runs.ts";
import { createRecordedStore } from "./ledger/recorded.ts";
import { createResultStore, createWorkflowResultStore } from "./ledger/results.ts";
import { createScheduleStore } from "./ledger/schedules.ts";
import { createSlotStore } from "./ledger/slots.ts";
import { createLocationStore } from "./locations.ts";
import { createRetentionStore } from "./retention.ts";
import { createStatCheckStore } from "./stats/stat-checks.ts";
import { createStatStore } from "./stats/stats.ts";

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
  readonly transaction: <T>(work: (store: Store) => Promise<T>) => Promise<T>;
  /** The database server's clock; the system's without a server. */
  now(): Promise<number>;
  /** Resolves with what fails in a database that answers. */
  ping(): Promise<string | undefined>;
  close(): Promise<void>;
}

export const createStore = (database: Database, sealing: Sealing): Store => {
  const parts = Object.entries(PARTS).map(([name, create]) => [name, create(database, sealing)]);
  return { ...(Object.fromEntries(parts) as Parts), ...wholeOf(database, sealing) };
};

/** What concerns all parts of the store. */
const wholeOf = (database: Database, sealing: Sealing): Omit<Store, keyof Parts> => ({
  transaction: (work) =>
    inTransaction(database, (transaction) => work(storeIn(transaction, sealing))),
  now: () => database.timeOf(database.kysely),
  async ping() {
    await database.kysely.selectFrom("leases").select("name").limit(1).execute();
    return (await isReadOnly(database))
      ? "it refuses every change: `sonde doctor` says why"
      : undefined;
  },
  close: () => database.kysely.destroy(),
});

/** PostgreSQL only: the server is a standby, or its operator has set it so. */
async function isReadOnly({ kysely, rowLocks }: Database): Promise<boolean> {
  if (!rowLocks) return false;
  const { rows } = await sql<{ setting: string }>`
    select current_setting('transaction_read_only') as setting`.execute(kysely);
  return rows[0]?.setting === "on";
}

/** The store of a transaction creates a part on each use: most transactions use one or two. */
const storeIn = (database: Database, sealing: Sealing): Store =>
  Object.assign(Object.create(PARTS_ON_USE), { database, sealing }, wholeOf(database, sealing));

const PARTS_ON_USE = Object.defineProperties(
  {},
  Object.fromEntries(
    Object.entries(PARTS).map(([name, create]) => [
      name,
      {
        get(this: { readonly database: Database; readonly sealing: Sealing }) {
          return create(this.database, this.sealing);
        },
      },
    ]),
  ),
);
