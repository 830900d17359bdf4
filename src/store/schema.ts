// The tables, as Kysely sees them. Instants are epoch milliseconds in 64-bit integers; flags are 0
// or 1.
import type { Generated } from "kysely";
import type { Ownership } from "../model/access.ts";
import type { AgentCondition } from "../model/agent.ts";
import type {
  InsightsTable,
  NamesTable,
  ResultDetailsTable,
  ResultSpansTable,
  ResultsTable,
  StaleInsightsTable,
  StatBucketsTable,
  StatsTable,
  WorkflowResultsTable,
} from "./result-tables.ts";

interface DocumentsTable extends Ownership {
  id: string;
  kind: string;
  shared_org: number;
  shared_community: number;
  domain: string | null;
  auth_id: string | null;
  token_id: string | null;
  target_id: string | null;
  workspace: string | null;
  name: string | null;
  /** For tokens: when renewal is due; null: never, unless the token or its setting changes. */
  renewal_time: number | null;
  /** For tokens: when the claim of a process on the renewal ends. */
  renewal_claim: number | null;
  /** For tokens: when the endpoint was last asked for a new one. */
  renewal_asked: number | null;
  document: string;
}

/** One row for each owner, its organization or "", and kind of documents. */
type OwnerUsageTable = Record<"owner" | "owner_org" | "kind", string> &
  Record<"objects" | "bytes", number>;

/** The calls that workflows and reports name. */
interface DocumentCallsTable {
  call_id: string;
  kind: string;
  document_id: string;
}

interface SchedulesTable extends Ownership {
  deployment_id: string;
  target_id: string;
  location_id: string;
  frequency: number;
  run_delay: number;
  target_kind: string;
  between_calls_delay: number;
  /** Frequency and phase in one number: selects the schedules of a slot. */
  slot_key: number;
  active_from: number;
  active_until: number;
}

interface PendingRunsTable extends Ownership {
  result_id: string;
  trigger: string;
  deployment_id: string | null;
  target_id: string;
  location_id: string;
  trigger_time: number;
  due_time: number;
  latest_start: number;
  expires_at: number;
  context: string;
  published: number;
  /** Left to the beat when it was ordered: its token was about to be renewed. */
  held_back: number;
  target_kind: string;
  between_calls_delay: number;
  call_ids: string | null;
}

interface ApiKeysTable {
  id: string;
  hash: string;
  owner: string;
  org: string | null;
  access_level: string;
  name: string | null;
  created: number;
  last_update: number;
  revoked: number;
}

interface LocationsTable {
  id: string;
  label: string;
  region: string;
  created: number;
  key_version: Generated<number>;
  /** When the newest version of the key takes over; null once it has. */
  key_changed: number | null;
  /** When it was removed; null if it was not. */
  removed: number | null;
}

interface AgentsTable {
  location_id: string;
  agent_id: string;
  version: string;
  protocol: number;
  condition: AgentCondition;
  condition_since: number;
  capacity: number | null;
  in_flight: number;
  held: number;
  spool_reports: number;
  spool_bytes: number;
  clock_offset_ms: number | null;
  sent: number;
  remote_addr: string;
  created: number;
  last_seen: number;
  drain_ordered: number;
}

interface LeasesTable {
  name: string;
  holder: string;
  fence: number;
  expires_at: number;
  cursor: number | null;
}

type MasterKeysTable = Record<"key_id" | "sealed_check", string>;

interface AuditTable {
  id: string;
  time: number;
  /** The id of a key, or another actor. */
  actor: string;
  owner: string | null;
  org: string | null;
  address: string | null;
  action: string;
  kind: string;
  object_id: string;
  object_owner: string | null;
  object_org: string | null;
  fields: string;
}

interface SignInCodesTable {
  hash: string;
  key_id: string;
  created: number;
}

interface SessionsTable extends SignInCodesTable {
  last_used: number;
}

interface KeptAnswersTable {
  id: string;
  created: number;
  /** Empty until there is an answer. */
  sealed: string;
}

/** On PostgreSQL, the number of the transaction is in another column. */
interface RecordedTable {
  seq: Generated<number>;
  time: number;
  /** JSON, packed by recorded.ts. */
  body: string;
}

export interface Schema {
  documents: DocumentsTable;
  document_calls: DocumentCallsTable;
  owner_usage: OwnerUsageTable;
  schedules: SchedulesTable;
  /** Schedules that no beat has looked at yet. */
  new_schedules: Pick<SchedulesTable, "deployment_id" | "active_from">;
  /** Slots that are not fully open, and the last schedule that has been reached. */
  opening_slots: Pick<SchedulesTable, "slot_key" | "run_delay" | "deployment_id"> &
    Record<"slot" | "late" | "opened", number>;
  pending_runs: PendingRunsTable;
  names: NamesTable;
  results: ResultsTable;
  result_details: ResultDetailsTable;
  result_spans: ResultSpansTable;
  workflow_results: WorkflowResultsTable;
  /** Kept for a few minutes. */
  recorded: RecordedTable;
  stats: StatsTable;
  stat_buckets: StatBucketsTable;
  insights: InsightsTable;
  stale_insights: StaleInsightsTable;
  api_keys: ApiKeysTable;
  locations: LocationsTable;
  agents: AgentsTable;
  leases: LeasesTable;
  master_keys: MasterKeysTable;
  audit: AuditTable;
  kept_answers: KeptAnswersTable;
  sessions: SessionsTable;
  sign_in_codes: SignInCodesTable;
}
