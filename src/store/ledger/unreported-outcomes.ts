// Records the outcomes of runs that no agent reports: MISSED or UNABLE_TO_RUN.
import { resultWithoutCall, workflowResultWithoutCalls } from "../../model/result-without-call.ts";
import type { Database } from "../database.ts";
import { isAmong, textAt } from "../database.ts";
import type { UnreportedOutcome } from "../records.ts";
import { lockOrders, lockOutcomes, storeOutcomes } from "./outcome-rows.ts";
import type { Order, Outcome } from "./outcome-rows.ts";
import { removePending } from "./pending-runs.ts";

/** Call it in a transaction. Returns how many runs had no outcome yet. */
export async function recordUnreported(
  transaction: Database,
  outcomes: readonly UnreportedOutcome[],
): Promise<number> {
  const ids = outcomes.map(({ run }) => run.result_id).sort();
  const pending = await lockOrders(transaction, ids);
  const stored = await lockOutcomes(transaction, ids);
  const fresh = outcomes.filter(({ run }) => !stored.has(run.result_id));
  const targets = await readTargets(transaction, fresh);
  await storeOutcomes(
    transaction,
    fresh.map((outcome) => toOutcome(outcome, pending, targets)),
  );
  await removePending(transaction, ids);
  return fresh.length;
}

/** What a result shows of a call or a workflow, and the workflow's calls. */
interface Target {
  readonly name: string;
  readonly domain: string;
  /** Null for a workflow. */
  readonly request: { readonly method: string; readonly url: string } | null;
  /** Empty for a call. */
  readonly call_ids: readonly string[];
}

const DELETED: Target = { name: "", domain: "", request: null, call_ids: [] };

/** Reads each target once, by its id, without the bodies of calls. */
async function readTargets(
  database: Database,
  outcomes: readonly UnreportedOutcome[],
): Promise<ReadonlyMap<string, Target>> {
  const ids = [...new Set(outcomes.map(({ run }) => run.target_id))];
  const text = (...path: string[]) => textAt(database, "document", path);
  const rows = await database.kysely
    .selectFrom("documents")
    .select(["id", "domain", text("meta", "name").as("name")])
    .select([text("request", "method").as("method"), text("request", "url").as("url")])
    .select(text("workflow", "call_ids").as("call_ids"))
    .where("kind", "in", ["call", "workflow"])
    .where(isAmong(database, "id", ids))
    .execute();
  return new Map(
    rows.map(({ id, name, domain, method, url, call_ids }) => [
      id,
      {
        name: name ?? "",
        domain: domain ?? "",
        request: method === null || url === null ? null : { method, url },
        call_ids: call_ids === null ? [] : (JSON.parse(call_ids) as string[]),
      },
    ]),
  );
}

function toOutcome(
  outcome: UnreportedOutcome,
  pending: ReadonlyMap<string, Order>,
  targets: ReadonlyMap<string, Target>,
): Outcome {
  const { run } = outcome;
  const { result_id, target_id } = run;
  const { name, call_ids, ...target } = targets.get(target_id) ?? DELETED;
  // The caller's copy of the run may be older than its plan. If a restored backup lacks the plan,
  // it was of these calls, and a late report on them replaces the outcome.
  const known = pending.get(result_id) ?? { ...run, call_ids: run.call_ids ?? [] };
  const order = known.call_ids.length > 0 ? known : { ...known, call_ids };
  const ended = { order, replaced: undefined };
  if (run.target_kind === "workflow") {
    const workflow = { workflow_id: target_id, name };
    return { ...ended, results: [], workflow: workflowResultWithoutCalls(run, workflow, outcome) };
  }
  const call = { result_id, call_id: target_id, ...target };
  return { ...ended, results: [resultWithoutCall(run, call, outcome)], workflow: null };
}
