// The tables of results and statistics, as Kysely sees them, in the forms of schema.ts.
import type { Generated } from "kysely";

/** Texts that rows repeat: columns of other tables hold the number of the text. */
export interface NamesTable {
  id: Generated<number>;
  name: string;
}

export interface ResultsTable {
  id: string;
  owner: number;
  call: number;
  workflow: number | null;
  workflow_result_id: string | null;
  deployment: number | null;
  location: number;
  agent: number | null;
  trigger: number;
  trigger_time: number;
  due_time: number;
  /** When the call started, or when it was due if it did not start. */
  time: number;
  started: number;
  end_time: number | null;
  result: number;
  message: string | null;
  domain: number;
  http_code: number | null;
  source_ip: number | null;
  dest_ip: number | null;
  request_size: number | null;
  response_size: number | null;
  redirects: number;
  is_late: number;
  /** Phases, total and uncertainty in whole microseconds. */
  dns: number | null;
  tcp: number | null;
  handshake: number | null;
  upload: number | null;
  processing: number | null;
  download: number | null;
  total: number | null;
  uncertainty: number | null;
}

/** In milliseconds. PostgreSQL only; it has one row. */
export interface ResultSpansTable {
  late: number;
  early: number;
}

/** Packed by details.ts. */
export interface ResultDetailsTable {
  result_id: string;
  details: Uint8Array;
  content: Uint8Array | null;
}

export interface WorkflowResultsTable {
  id: string;
  owner: string;
  workflow_id: string;
  deployment_id: string | null;
  location_id: string;
  time: number;
  result: string;
  call_ids: string;
  document: string;
}

/** Statistics of hours, days and months. */
export interface StatsTable {
  id: Generated<number>;
  kind: number;
  period: number;
  call: number;
  location: number;
  result: number;
  count: number;
  min: number;
  max: number;
  mean: number;
  m2: number;
  m3: number;
  /** For each phase, how many calls reached it, and their sum of microseconds. */
  dns_count: number;
  dns_sum: number;
  tcp_count: number;
  tcp_sum: number;
  handshake_count: number;
  handshake_sum: number;
  upload_count: number;
  upload_sum: number;
  processing_count: number;
  processing_sum: number;
  download_count: number;
  download_sum: number;
}

/** How many latencies of a row of `stats` are in each bucket. */
export interface StatBucketsTable {
  stat_id: number;
  bucket: number;
  count: number;
}

/** Reports on closed weeks and months. */
export interface InsightsTable {
  id: Generated<number>;
  report_type: number;
  start: number;
  call: number;
  /** The call's owner when the report was made. */
  owner: string;
  owner_org: string | null;
  /** Whether the organization, or everybody, may see the report; updated with the call. */
  shared_org: number;
  shared_community: number;
  made: number;
  passed: number;
  outliers: number;
  score: number;
  pass_percent: number;
  outlier_percent: number;
  mean_test_length: number;
  sd_test_length: number;
  /** Packed by details.ts. */
  details: Uint8Array;
}

/** Reports that must be computed, or computed again. */
export interface StaleInsightsTable extends Pick<InsightsTable, "start" | "report_type" | "call"> {
  /** Grows with each change that made the report stale. */
  version: number;
}
