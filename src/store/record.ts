// The closing of the ledger: one transaction stores outcomes once, removes their pending runs and
// folds the statistics.
import type { RunReport } from "../model/result.ts";
import type { Database } from "./database.ts";
import { inTransaction } from "./database.ts";
import { lockOutcomes, lockPending, removePending, storeOutcomes } from "./ledger-rows.ts";
import type { Order, Outcome, StoredOutcome } from "./ledger-rows.ts";
import { resultWithoutCall, workflowResultWithoutCalls } from "../model/result-without-call.ts";
import type { MissedRun, Recorded } from "./ports/result-store.ts";
import { stepIds } from "../runtime/ids.ts";

export async function recordReports(
  database: Database,
  reports: readonly RunReport[],
): Promise<Recorded> {
  // Of two reports on a run, one that says MISSED gives way, as it does when they come in batches
  // of their own.
  const byRun = new Map(
    reports
      .toSorted((a, b) => Number(isMissed(b)) - Number(isMissed(a)))
      .map((report) => [report.run_id, report]),
  );
  return inTransaction(database, async (transaction) => {
    const ids = [...byRun.keys()].sort();
    const pending = await lockPending(transaction, ids);
    const stored = await lockOutcomes(transaction, ids);
    const accepted: Outcome[] = [];
    let [duplicate, unknown, late] = [reports.length - byRun.size, 0, 0];
    for (const [id, report] of byRun) {
      const before = stored.get(id);
      const order = pending.get(id) ?? before?.order;
      if (!order || !fits(report, order)) unknown += 1;
      else if (before && (before.result !== "MISSED" || isMissed(report))) duplicate += 1;
      else {
        accepted.push(outcomeOf(report, order, before));
        if (before) late += 1;
      }
    }
    await storeOutcomes(transaction, accepted);
    await removePending(transaction, [...stored.keys(), ...accepted.map(({ runId }) => runId)]);
    return { recorded: accepted.length, late, duplicate, unknown };
  });
}

/**
 * A report is about one ordered run and no other call, and comes from where that run was ordered.
 */
function fits(report: RunReport, order: Order): boolean {
  const { run_id, location_id, results, workflow = null } = report;
  const { target_kind, target_id } = order;
  const ids = target_kind === "call" ? [run_id] : stepIds(order.due_time, run_id, results.length);
  const callIds = target_kind === "call" ? [target_id] : order.call_ids;
  const areOrdered = results.every(
    ({ id, meta }, at) =>
      id === ids[at] && meta.call_id === callIds[at] && meta.location_id === location_id,
  );
  if (location_id !== order.location_id || !areOrdered) return false;
  if (target_kind === "call") return !workflow && results.length === 1;
  return (
    workflow?.id === run_id &&
    workflow.meta.workflow_id === target_id &&
    workflow.meta.location_id === location_id &&
    workflow.counts.calls === results.length &&
    (isMissed(report) || results.length === callIds.length)
  );
}

const isMissed = ({ results, workflow }: RunReport): boolean =>
  workflow
    ? results.length === 0 && workflow.meta.result === "MISSED"
    : results.every(({ meta }) => meta.result === "MISSED");

const outcomeOf = (
  { run_id, results, workflow }: RunReport,
  order: Order,
  before: StoredOutcome | undefined,
): Outcome => ({
  runId: run_id,
  order,
  results: results.map((result) => ({
    owner: order.owner,
    result,
    replaces: before?.replaced,
  })),
  workflow: workflow ?? null,
});

export async function recordMissedRuns(
  database: Database,
  missed: readonly MissedRun[],
): Promise<number> {
  return inTransaction(database, async (transaction) => {
    const ids = missed.map(({ run }) => run.result_id).sort();
    const pending = await lockPending(transaction, ids);
    const stored = await lockOutcomes(transaction, ids);
    const accepted = missed
      .filter(({ run }) => !stored.has(run.result_id))
      .map((outcome): Outcome => missedOutcome(outcome, pending));
    await storeOutcomes(transaction, accepted);
    await removePending(transaction, ids);
    return accepted.length;
  });
}

function missedOutcome(outcome: MissedRun, pending: ReadonlyMap<string, Order>): Outcome {
  const { run } = outcome;
  const { result_id: runId, target_id } = run;
  // The row knows the plan that the caller's copy may be older than.
  const order = pending.get(runId) ?? { ...run, call_ids: run.call_ids ?? [] };
  if (run.target_kind === "workflow")
    return {
      runId,
      order,
      results: [],
      workflow: workflowResultWithoutCalls(run, { workflow_id: target_id, name: "" }, outcome),
    };
  const { owner } = run;
  const call = { result_id: runId, call_id: target_id, domain: "", request: { url: "" } };
  const result = resultWithoutCall(run, call, outcome);
  const results = [{ owner, result, replaces: undefined }];
  return { runId, order, results, workflow: null };
}
