// The rows that the ledger is closed with: locked, read, written and removed within one
// transaction.
import { latencyOf, timeOf } from "../model/result.ts";
import type { Result, ResultCode, WorkflowResult } from "../model/result.ts";
import { parseInstant } from "../model/instant.ts";
import type { TargetKind } from "../model/tick.ts";
import type { Database } from "./database.ts";
import { chunksOf } from "./database.ts";
import { foldResults } from "./fold.ts";
import type { NewResult } from "./fold.ts";
import { toPendingRun } from "./pending-runs.ts";
import { storeContents, withoutContent } from "./result-contents.ts";

/** What was ordered, as far as a report must agree with it. */
export interface Order {
  readonly owner: string;
  readonly location_id: string;
  readonly target_id: string;
  readonly target_kind: TargetKind;
  readonly due_time: number;
  /** Of a workflow's run; empty for a call. */
  readonly call_ids: readonly string[];
}

/** The outcome of one run, as it goes into the ledger. */
export interface Outcome {
  readonly runId: string;
  readonly order: Order;
  readonly results: readonly NewResult[];
  /** Null for the run of a call. */
  readonly workflow: WorkflowResult | null;
}

export interface StoredOutcome {
  readonly order: Order;
  readonly result: ResultCode;
  /** What a new outcome takes the place of in the statistics. */
  readonly replaced: Result | undefined;
}

/**
 * Locks what is about to be decided on, so that two aggregators, or one and the reconciler, follow
 * one another.
 */
export async function lockPending(
  { kysely, rowLocks }: Database,
  ids: readonly string[],
): Promise<Map<string, Order>> {
  const found = new Map<string, Order>();
  for (const chunk of chunksOf(ids)) {
    const query = kysely
      .selectFrom("pending_runs")
      .selectAll()
      .where("result_id", "in", chunk)
      .orderBy("result_id");
    for (const row of await (rowLocks ? query.forUpdate() : query).execute()) {
      const run = toPendingRun(row);
      found.set(row.result_id, { ...run, call_ids: run.call_ids ?? [] });
    }
  }
  return found;
}

/** By the ids of their runs. */
export async function lockOutcomes(
  database: Database,
  ids: readonly string[],
): Promise<Map<string, StoredOutcome>> {
  const found = new Map<string, StoredOutcome>();
  for (const chunk of chunksOf(ids)) {
    await lockResults(database, chunk, found);
    await lockWorkflowResults(database, chunk, found);
  }
  return found;
}

async function lockResults(
  { kysely, rowLocks }: Database,
  ids: readonly string[],
  found: Map<string, StoredOutcome>,
): Promise<void> {
  const query = kysely
    .selectFrom("results")
    .select(["id", "owner", "location_id", "call_id", "time", "document"])
    .where("id", "in", ids)
    .orderBy("id");
  for (const row of await (rowLocks ? query.forUpdate() : query).execute()) {
    const { id, owner, location_id, call_id, time: due_time } = row;
    const replaced = JSON.parse(row.document) as Result;
    found.set(id, {
      order: {
        owner,
        location_id,
        target_id: call_id,
        target_kind: "call",
        due_time,
        call_ids: [],
      },
      result: replaced.meta.result,
      replaced,
    });
  }
}

async function lockWorkflowResults(
  { kysely, rowLocks }: Database,
  ids: readonly string[],
  found: Map<string, StoredOutcome>,
): Promise<void> {
  const query = kysely
    .selectFrom("workflow_results")
    .selectAll()
    .where("id", "in", ids)
    .orderBy("id");
  for (const row of await (rowLocks ? query.forUpdate() : query).execute()) {
    const { id, owner, location_id, workflow_id, document, call_ids } = row;
    const { meta } = JSON.parse(document) as WorkflowResult;
    found.set(id, {
      order: {
        owner,
        location_id,
        target_id: workflow_id,
        target_kind: "workflow",
        due_time: parseInstant(meta.due_time) as number,
        call_ids: JSON.parse(call_ids) as string[],
      },
      result: meta.result,
      replaced: undefined,
    });
  }
}

export async function removePending({ kysely }: Database, ids: readonly string[]): Promise<void> {
  for (const chunk of chunksOf(ids))
    await kysely.deleteFrom("pending_runs").where("result_id", "in", chunk).execute();
}

export async function storeOutcomes(
  database: Database,
  accepted: readonly Outcome[],
): Promise<void> {
  const results = accepted.flatMap((outcome) => outcome.results);
  await storeResults(database, results);
  await storeContents(
    database,
    results.map(({ result }) => result),
  );
  await storeWorkflows(database, accepted);
  await foldResults(database, results);
}

async function storeResults(database: Database, results: readonly NewResult[]): Promise<void> {
  for (const chunk of chunksOf(results, 200)) {
    await database.kysely
      .insertInto("results")
      .values(chunk.map(toRow))
      .onConflict((conflict) =>
        conflict.column("id").doUpdateSet((eb) => ({
          time: eb.ref("excluded.time"),
          result: eb.ref("excluded.result"),
          latency: eb.ref("excluded.latency"),
          http_code: eb.ref("excluded.http_code"),
          content_length: eb.ref("excluded.content_length"),
          dns: eb.ref("excluded.dns"),
          tcp: eb.ref("excluded.tcp"),
          handshake: eb.ref("excluded.handshake"),
          upload: eb.ref("excluded.upload"),
          processing: eb.ref("excluded.processing"),
          download: eb.ref("excluded.download"),
          document: eb.ref("excluded.document"),
        })),
      )
      .execute();
  }
}

async function storeWorkflows({ kysely }: Database, accepted: readonly Outcome[]): Promise<void> {
  const rows = accepted.flatMap(({ workflow, order }) =>
    workflow ? workflowRow(workflow, order) : [],
  );
  for (const chunk of chunksOf(rows, 200))
    await kysely
      .insertInto("workflow_results")
      .values(chunk)
      .onConflict((conflict) =>
        conflict.column("id").doUpdateSet((eb) => ({
          time: eb.ref("excluded.time"),
          result: eb.ref("excluded.result"),
          document: eb.ref("excluded.document"),
        })),
      )
      .execute();
}

const workflowRow = (workflow: WorkflowResult, order: Order) => ({
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

function toRow({ owner, result }: NewResult) {
  const { meta, timing } = result;
  const { total: _total, ...phases } = timing;
  return {
    id: result.id,
    owner,
    call_id: meta.call_id,
    deployment_id: meta.deployment_id,
    location_id: meta.location_id,
    time: timeOf(result),
    result: meta.result,
    latency: latencyOf(result),
    http_code: meta.http_code,
    content_length: meta.response_size,
    ...phases,
    document: JSON.stringify(withoutContent(result)),
  };
}
