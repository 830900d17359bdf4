// Locks and stores the rows of outcomes: results with their details, and results of workflows.
import type { Context } from "../../model/context.ts";
import { parseInstant } from "../../model/instant.ts";
import { KEPT_KINDS } from "../../model/periods.ts";
import { countedResult } from "../../model/counted-result.ts";
import { timeOfResult } from "../../model/result.ts";
import type { ReportedResult, ResultCode, WorkflowResult } from "../../model/result.ts";
import { toStorable } from "../../model/storable.ts";
import type { TargetKind } from "../../model/tick.ts";
import { takeExcluded } from "../bulk.ts";
import type { BulkInsert, BulkRow } from "../bulk.ts";
import type { Database } from "../database.ts";
import { insertRows, isAmong, meanwhile } from "../database.ts";
import { statChanges, storeStatChanges } from "../stats/fold.ts";
import type { CountedPlace } from "../stats/fold.ts";
import { namesOf, numberNames } from "../names.ts";
import type { PendingRun } from "../records.ts";
import { noteRecorded } from "./recorded.ts";
import { noteSpans } from "../result-days.ts";
import {
  INSERT_DETAILS,
  INSERT_RESULTS,
  namesOfResult,
  toContextRow,
  toDetailsRow,
  toRow,
} from "../results/result-row.ts";
import { markLate } from "../insights/stale-insights.ts";

/** The part of an ordered run that its report must match. */
export type Order = Pick<
  PendingRun,
  "owner" | "location_id" | "target_id" | "target_kind" | "due_time"
> & {
  /** Of a workflow's run: the deployment's later runs wait for this one. */
  readonly deployment_id?: string | null;
  /** The calls of a workflow's run; empty for a call. */
  readonly call_ids: readonly string[];
};

/** The outcome of one run, to be stored. */
export interface Outcome {
  readonly order: Order;
  readonly results: readonly ReportedResult[];
  /** Null for the run of a call. */
  readonly workflow: WorkflowResult | null;
  /** The context that the workflow's run was given, if any, with credentials masked. */
  readonly context?: Context | undefined;
  /** Where the MISSED result that it replaces was counted. */
  readonly replaced: CountedPlace | undefined;
}

/**
 * Returns the orders of pending runs by their ids, locked until the end of the transaction:
 * aggregators and the reconciler take turns.
 */
export async function lockOrders(
  database: Database,
  ids: readonly string[],
): Promise<Map<string, Order>> {
  const query = database.kysely
    .selectFrom("pending_runs")
    .select(["result_id", "owner", "location_id", "target_id", "target_kind", "due_time"])
    .select(["deployment_id", "call_ids"])
    .where(isAmong(database, "result_id", ids))
    .orderBy("result_id");
  const rows = await (database.rowLocks ? query.forUpdate() : query).execute();
  return new Map(
    rows.map(({ result_id, target_kind, call_ids, ...run }) => [
      result_id,
      {
        ...run,
        target_kind: target_kind as TargetKind,
        call_ids: call_ids === null ? [] : (JSON.parse(call_ids) as string[]),
      },
    ]),
  );
}

export interface StoredOutcome {
  readonly order: Order;
  readonly isMissed: boolean;
  /** Undefined for the run of a workflow. */
  readonly counted: CountedPlace | undefined;
}

/** Returns the outcomes by the ids of their runs, locked until the end of the transaction. */
export async function lockOutcomes(
  database: Database,
  ids: readonly string[],
): Promise<Map<string, StoredOutcome>> {
  return new Map([
    ...(await lockResults(database, ids)),
    ...(await lockWorkflowResults(database, ids)),
  ]);
}

async function lockResults(
  database: Database,
  ids: readonly string[],
): Promise<[string, StoredOutcome][]> {
  // Without a join: after waiting for a lock, PostgreSQL rereads only the locked row, and would
  // drop it if its result no longer matched the name read before.
  const query = database.kysely
    .selectFrom("results")
    .select(["id", "owner", "due_time", "time", "location", "call", "result"])
    .where(isAmong(database, "id", ids))
    .orderBy("id");
  const rows = await (database.rowLocks ? query.forUpdate() : query).execute();
  const nameOf = await namesOf(
    database,
    rows.flatMap(({ owner, location, call, result }) => [owner, location, call, result]),
  );
  return rows.map(({ id, due_time, time, ...row }) => {
    const [location_id, call_id] = [nameOf(row.location), nameOf(row.call)];
    const result = nameOf(row.result) as ResultCode;
    const target = { target_id: call_id, target_kind: "call", call_ids: [] } as const;
    return [
      id,
      {
        order: { owner: nameOf(row.owner), location_id, due_time, ...target },
        isMissed: result === "MISSED",
        counted: { call_id, location_id, result, time },
      },
    ];
  });
}

async function lockWorkflowResults(
  database: Database,
  ids: readonly string[],
): Promise<[string, StoredOutcome][]> {
  const query = database.kysely
    .selectFrom("workflow_results")
    .select(["id", "owner", "deployment_id", "location_id", "workflow_id as target_id"])
    .select(["call_ids", "document"])
    .where(isAmong(database, "id", ids))
    .orderBy("id");
  const rows = await (database.rowLocks ? query.forUpdate() : query).execute();
  return rows.map(({ id, call_ids, document, ...order }) => {
    const { meta } = JSON.parse(document) as WorkflowResult;
    const due_time = parseInstant(meta.due_time) as number;
    const calls = JSON.parse(call_ids) as string[];
    return [
      id,
      {
        order: { ...order, target_kind: "workflow", due_time, call_ids: calls },
        isMissed: meta.result === "MISSED",
        counted: undefined,
      },
    ];
  });
}

/** Stores the outcomes and counts their results in the statistics. */
export async function storeOutcomes(
  database: Database,
  outcomes: readonly Outcome[],
): Promise<void> {
  const stored = outcomes.flatMap(({ order: { owner }, results }) =>
    results.map((result) => ({ owner, result })),
  );
  const replaced = outcomes.flatMap((outcome) => outcome.replaced ?? []);
  const results = stored.map(({ result }) => result);
  const numberOf = await numberNames(database, [
    ...KEPT_KINDS,
    ...stored.flatMap(({ owner, result }) => namesOfResult(owner, result)),
    ...replaced.flatMap(({ call_id, location_id, result }) => [call_id, location_id, result]),
  ]);
  const rows = stored.map(({ owner, result }) => toRow(owner, result, numberOf));
  const details = await meanwhile(database, insertRows(database, INSERT_RESULTS, rows), () => [
    ...results.flatMap((result) => toDetailsRow(result) ?? []),
    ...outcomes.flatMap(contextRows),
  ]);
  await noteSpans(database, rows);
  const counted = results.map(countedResult);
  const changes = await meanwhile(database, insertRows(database, INSERT_DETAILS, details), () =>
    statChanges(counted, replaced, numberOf),
  );
  await insertRows(database, INSERT_WORKFLOW_RESULTS, outcomes.flatMap(toWorkflowRow));
  await storeStatChanges(database, changes);
  await markLate(database, [...counted, ...replaced], numberOf);
  const workflows = outcomes.flatMap(({ workflow }) => workflow ?? []);
  await noteRecorded(database, results, workflows);
  const { onStored } = database;
  if (onStored && results.length > 0) database.afterCommit(() => onStored(results));
}

const contextRows = ({ workflow, context }: Outcome) =>
  workflow && context ? [toContextRow(workflow.id, context)] : [];

const WORKFLOW_COLUMNS = {
  id: "text",
  owner: "text",
  workflow_id: "text",
  deployment_id: "text",
  location_id: "text",
  time: "bigint",
  result: "text",
  call_ids: "text",
  document: "text",
} as const;

const INSERT_WORKFLOW_RESULTS: BulkInsert<keyof typeof WORKFLOW_COLUMNS> = {
  into: "workflow_results",
  columns: WORKFLOW_COLUMNS,
  onConflict: `on conflict (id) do update set ${takeExcluded(["time", "result", "document"])}`,
};

const toWorkflowRow = ({ workflow, order }: Outcome): BulkRow<keyof typeof WORKFLOW_COLUMNS>[] =>
  workflow
    ? [
        {
          id: workflow.id,
          owner: order.owner,
          workflow_id: workflow.meta.workflow_id,
          deployment_id: workflow.meta.deployment_id,
          location_id: workflow.meta.location_id,
          time: timeOfResult(workflow.meta),
          result: workflow.meta.result,
          call_ids: JSON.stringify(order.call_ids),
          document: JSON.stringify(toStorable(workflow)),
        },
      ]
    : [];
