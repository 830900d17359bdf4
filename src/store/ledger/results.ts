// Records the outcome of each run once, and reads outcomes.
import { sql } from "kysely";
import type { Context } from "../../model/context.ts";
import type { Content } from "../../model/content.ts";
import { hasTimesNear } from "../../model/result.ts";
import type { Result, RunReport, WorkflowResult } from "../../model/result.ts";
import { stepIds } from "../../runtime/ids.ts";
import type { Database } from "../database.ts";
import { inTransaction, isAmong } from "../database.ts";
import { namesOf } from "../names.ts";
import { lockOrders, lockOutcomes, storeOutcomes } from "./outcome-rows.ts";
import type { Order, Outcome } from "./outcome-rows.ts";
import { removePending } from "./pending-runs.ts";
import type { Recorded, ResultPage, UnreportedOutcome } from "../records.ts";
import { idsOnPage, MOST_READS } from "../results/result-pages.ts";
import {
  numbersIn,
  RESULT_COLUMNS,
  toContent,
  toContext,
  toResult,
} from "../results/result-row.ts";
import { recordUnreported } from "./unreported-outcomes.ts";
import { workflowIdsOnPage } from "../results/workflow-result-pages.ts";

export function createResultStore(database: Database) {
  const rows = (ids: readonly string[]) =>
    database.kysely
      .selectFrom("results")
      .leftJoin("result_details", (join) =>
        join
          .onRef("result_details.result_id", "=", "results.id")
          // Opens the tables of these ids' days only.
          .on(database.rowLocks ? isAmong(database, "result_id", ids) : sql<boolean>`true`),
      )
      .select([...RESULT_COLUMNS, "result_details.details"])
      .where(isAmong(database, "results.id", ids));
  const read = async (query: ReturnType<typeof rows>): Promise<Result[]> => {
    const found = await query.execute();
    const nameOf = await namesOf(database, numbersIn(found));
    return found.map((row) => toResult(row, nameOf));
  };
  const getMany = async (ids: readonly string[]): Promise<Result[]> => {
    if (ids.length === 0) return []; // PostgreSQL would open the tables of all days
    const results = await read(rows(ids));
    const found = new Map(results.map((result) => [result.id, result]));
    return ids.flatMap((id) => found.get(id) ?? []);
  };
  return {
    /**
     * In one transaction: stores each report's results once, including a workflow's own, removes
     * the pending runs and updates the statistics.
     */
    record: (reports: readonly RunReport[]): Promise<Recorded> =>
      inTransaction(database, (transaction) => recordReports(transaction, reports)),
    /** The same for runs without a report; keeps existing outcomes. Returns how many are new. */
    recordUnreported: (outcomes: readonly UnreportedOutcome[]): Promise<number> =>
      inTransaction(database, (transaction) => recordUnreported(transaction, outcomes)),
    async get(id: string): Promise<Result | undefined> {
      const [result] = await read(rows([id]));
      return result;
    },
    /** The body of the response; undefined if none was kept. */
    async content(id: string): Promise<Content | undefined> {
      const details = database.kysely.selectFrom("result_details").select("content");
      const row = await details.where("result_id", "=", id).executeTakeFirst();
      return row?.content ? toContent(row.content) : undefined;
    },
    /** The results that exist, in the order of `ids`. */
    getMany,
    /** Excludes pending runs. */
    listOfCall: (callId: string, page: ResultPage): Promise<Result[]> =>
      readPage(page, () => idsOnPage(database, callId, page), getMany),
  };
}

/** Reads the results of workflows' runs as a whole; `results` writes them. */
export function createWorkflowResultStore(database: Database) {
  const documents = () => database.kysely.selectFrom("workflow_results").select("document");
  return {
    async get(id: string): Promise<WorkflowResult | undefined> {
      const row = await documents().where("id", "=", id).executeTakeFirst();
      return row && workflowResultOf(row);
    },
    /** The context that the run was given; undefined if there was none, or it has expired. */
    async context(id: string): Promise<Context | undefined> {
      const kept = database.kysely.selectFrom("result_details").select("details");
      const row = await kept.where("result_id", "=", id).executeTakeFirst();
      return row && toContext(row.details);
    },
    /** Excludes pending runs. */
    listOfWorkflow: (workflowId: string, page: ResultPage): Promise<WorkflowResult[]> =>
      readPage(
        page,
        () => workflowIdsOnPage(database, workflowId, page),
        async (ids) => {
          const rows = documents()
            .where(isAmong(database, "id", ids))
            .orderBy("id", page.order);
          return (await rows.execute()).map(workflowResultOf);
        },
      ),
    /** The result of the deployment's run that an agent started last. */
    async latestOfDeployment(deploymentId: string): Promise<WorkflowResult | undefined> {
      const row = await documents()
        .where("deployment_id", "=", deploymentId)
        .where("result", "not in", ["MISSED", "UNABLE_TO_RUN"])
        .orderBy("time", "desc")
        .limit(1)
        .executeTakeFirst();
      return row && workflowResultOf(row);
    },
  };
}

/** Reads again if a late result replaced a MISSED one, or results were removed, in between. */
async function readPage<R extends Pick<Result | WorkflowResult, "meta">>(
  { codes }: ResultPage,
  findIds: () => Promise<string[]>,
  read: (ids: readonly string[]) => Promise<R[]>,
): Promise<R[]> {
  for (let reads = 1; ; reads += 1) {
    const ids = await findIds();
    const results = await read(ids);
    const fit = results.filter(({ meta }) => codes?.includes(meta.result) ?? true);
    if (fit.length === ids.length || reads === MOST_READS) return results;
  }
}

const workflowResultOf = ({ document }: { readonly document: string }): WorkflowResult =>
  JSON.parse(document) as WorkflowResult;

async function recordReports(
  transaction: Database,
  reports: readonly RunReport[],
): Promise<Recorded> {
  const ids = [...new Set(reports.map(({ run_id }) => run_id))].sort();
  const pending = await lockOrders(transaction, ids);
  const stored = await lockOutcomes(transaction, ids);
  const accepted = new Map<string, Outcome>();
  let [duplicate, unknown, late] = [0, 0, 0];
  // Of two reports on the same run, MISSED gives way, as across batches.
  for (const report of reports.toSorted((a, b) => Number(isMissed(a)) - Number(isMissed(b)))) {
    const { run_id, results, workflow = null, context } = report;
    const before = stored.get(run_id);
    const order = pending.get(run_id) ?? before?.order;
    const isEnded = before && (!before.isMissed || isMissed(report));
    if (!order || !fits(report, order)) unknown += 1;
    else if (isEnded || accepted.has(run_id)) duplicate += 1;
    else {
      accepted.set(run_id, { order, results, workflow, context, replaced: before?.counted });
      if (before) late += 1;
    }
  }
  const outcomes = [...accepted.values()];
  await storeOutcomes(transaction, outcomes);
  await removePending(transaction, [...stored.keys(), ...accepted.keys()]);
  return { recorded: outcomes.length, late, duplicate, unknown };
}

/**
 * Whether the report covers exactly the ordered run and its calls, near its due time, and comes
 * from its location. A workflow's must not name another deployment, whose runs would seem to
 * overlap it.
 */
function fits(report: RunReport, order: Order): boolean {
  const { run_id, location_id, results, workflow = null } = report;
  const { target_kind, target_id, deployment_id = null } = order;
  const ids = target_kind === "call" ? [run_id] : stepIds(order.due_time, run_id, results.length);
  const callIds = target_kind === "call" ? [target_id] : order.call_ids;
  const areOrdered = results.every(
    ({ id, meta }, at) =>
      id === ids[at] && meta.call_id === callIds[at] && meta.location_id === location_id,
  );
  if (location_id !== order.location_id || !areOrdered) return false;
  if (!hasTimesNear(report, order.due_time)) return false;
  if (target_kind === "call") return !workflow && results.length === 1;
  return (
    workflow?.id === run_id &&
    workflow.meta.workflow_id === target_id &&
    workflow.meta.deployment_id === deployment_id &&
    workflow.meta.location_id === location_id &&
    workflow.counts.calls === results.length &&
    (isMissed(report) || results.length === callIds.length)
  );
}

const isMissed = ({ results, workflow }: RunReport): boolean =>
  workflow
    ? results.length === 0 && workflow.meta.result === "MISSED"
    : results.every(({ meta }) => meta.result === "MISSED");
