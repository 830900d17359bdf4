// The rows of outcomes: results, the bodies of responses beside them, and workflow results.
import { parseInstant } from "../model/instant.ts";
import { countedResult } from "../model/result.ts";
import type { CountedResult, ReportedResult, Result, WorkflowResult } from "../model/result.ts";
import type { Database } from "./database.ts";
import { chunksOf, excluded } from "./database.ts";
import type { PendingRun } from "./records.ts";
import { foldResults } from "./fold.ts";

/** The part of an ordered run that its report must match. */
export type Order = Pick<
  PendingRun,
  "owner" | "location_id" | "target_id" | "target_kind" | "due_time"
> & {
  /** The calls of a workflow's run; empty for a call. */
  readonly call_ids: readonly string[];
};

/** The outcome of one run, to be stored. */
export interface Outcome {
  readonly runId: string;
  readonly order: Order;
  readonly results: readonly ReportedResult[];
  /** Null for the run of a call. */
  readonly workflow: WorkflowResult | null;
  /** The MISSED result that it replaces. */
  readonly replaced: Result | undefined;
}

export interface StoredOutcome {
  readonly order: Order;
  readonly isMissed: boolean;
  /** Undefined for the run of a workflow. */
  readonly result: Result | undefined;
}

/** Returns the outcomes by the ids of their runs, locked until the end of the transaction. */
export async function lockOutcomes(
  database: Database,
  ids: readonly string[],
): Promise<Map<string, StoredOutcome>> {
  const found: [string, StoredOutcome][] = [];
  for (const chunk of chunksOf(ids)) {
    found.push(...(await lockResults(database, chunk)));
    found.push(...(await lockWorkflowResults(database, chunk)));
  }
  return new Map(found);
}

async function lockResults(
  { kysely, rowLocks }: Database,
  ids: readonly string[],
): Promise<[string, StoredOutcome][]> {
  const query = kysely
    .selectFrom("results")
    .select(["id", "owner", "location_id", "call_id as target_id", "time as due_time", "document"])
    .where("id", "in", ids)
    .orderBy("id");
  const rows = await (rowLocks ? query.forUpdate() : query).execute();
  return rows.map(({ id, document, ...order }) => {
    const result = JSON.parse(document) as Result;
    const isMissed = result.meta.result === "MISSED";
    return [id, { order: { ...order, target_kind: "call", call_ids: [] }, isMissed, result }];
  });
}

async function lockWorkflowResults(
  { kysely, rowLocks }: Database,
  ids: readonly string[],
): Promise<[string, StoredOutcome][]> {
  const query = kysely
    .selectFrom("workflow_results")
    .select(["id", "owner", "location_id", "workflow_id as target_id", "call_ids", "document"])
    .where("id", "in", ids)
    .orderBy("id");
  const rows = await (rowLocks ? query.forUpdate() : query).execute();
  return rows.map(({ id, call_ids, document, ...order }) => {
    const { meta } = JSON.parse(document) as WorkflowResult;
    const due_time = parseInstant(meta.due_time) as number;
    const calls = JSON.parse(call_ids) as string[];
    return [
      id,
      {
        order: { ...order, target_kind: "workflow", due_time, call_ids: calls },
        isMissed: meta.result === "MISSED",
        result: undefined,
      },
    ];
  });
}

/** Stores the outcomes and counts their results in the statistics. */
export async function storeOutcomes(
  database: Database,
  outcomes: readonly Outcome[],
): Promise<void> {
  const results = outcomes.flatMap(({ order, results: each }) =>
    each.map((result) => ({ owner: order.owner, result, counted: countedResult(result) })),
  );
  await storeResults(database, results);
  await storeContents(database, results);
  await storeWorkflowResults(database, outcomes);
  const replaced = outcomes.flatMap((outcome) => outcome.replaced ?? []);
  await foldResults(
    database,
    results.map(({ counted }) => counted),
    replaced.map(countedResult),
  );
}

interface NewResult {
  readonly owner: string;
  readonly result: ReportedResult;
  readonly counted: CountedResult;
}

const REPLACED_COLUMNS = excluded([
  "time",
  "result",
  "latency",
  "http_code",
  "content_length",
  "dns",
  "tcp",
  "handshake",
  "upload",
  "processing",
  "download",
  "document",
]);

async function storeResults({ kysely }: Database, results: readonly NewResult[]): Promise<void> {
  for (const chunk of chunksOf(results, 200))
    await kysely
      .insertInto("results")
      .values(chunk.map(toRow))
      .onConflict((conflict) => conflict.column("id").doUpdateSet(REPLACED_COLUMNS))
      .execute();
}

function toRow({ owner, result: { content: _content, ...result }, counted }: NewResult) {
  const { meta } = result;
  const { call_id, location_id, time, result: code, latency, phases } = counted;
  return {
    id: result.id,
    owner,
    call_id,
    deployment_id: meta.deployment_id,
    location_id,
    time,
    result: code,
    latency,
    http_code: meta.http_code,
    content_length: meta.response_size,
    ...phases,
    document: JSON.stringify(result),
  };
}

const CONTENT_COLUMNS = ["content_type", "encoding", "size", "content", "reason"] as const;

/** Columns are named one by one: an agent of a newer version may send more. */
async function storeContents({ kysely }: Database, results: readonly NewResult[]): Promise<void> {
  const rows = results.flatMap(({ result: { id, content: sent } }) => {
    if (!sent) return [];
    const { content_type, encoding, size, content, reason } = sent;
    return { result_id: id, content_type, encoding, size, content, reason };
  });
  for (const chunk of chunksOf(rows, 100))
    await kysely
      .insertInto("result_contents")
      .values(chunk)
      .onConflict((conflict) => conflict.column("result_id").doUpdateSet(excluded(CONTENT_COLUMNS)))
      .execute();
}

async function storeWorkflowResults(
  { kysely }: Database,
  outcomes: readonly Outcome[],
): Promise<void> {
  const rows = outcomes.flatMap(({ workflow, order }) =>
    workflow ? toWorkflowRow(workflow, order) : [],
  );
  for (const chunk of chunksOf(rows, 200))
    await kysely
      .insertInto("workflow_results")
      .values(chunk)
      .onConflict((conflict) =>
        conflict.column("id").doUpdateSet(excluded(["time", "result", "document"])),
      )
      .execute();
}

const toWorkflowRow = (workflow: WorkflowResult, order: Order) => ({
  id: workflow.id,
  owner: order.owner,
  workflow_id: workflow.meta.workflow_id,
  deployment_id: workflow.meta.deployment_id,
  location_id: workflow.meta.location_id,
  time: parseInstant(workflow.meta.start_time ?? workflow.meta.due_time) as number,
  result: workflow.meta.result,
  call_ids: JSON.stringify(order.call_ids),
  document: JSON.stringify(workflow),
});
