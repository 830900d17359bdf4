// The closing of the ledger: one transaction stores outcomes once, removes their pending runs and folds the statistics.
import { categoryOf, latencyOf, NO_TIMING, timeOf } from "../model/result.ts";
import type { Result, RunReport } from "../model/result.ts";
import { formatInstant } from "../model/instant.ts";
import type { Database } from "./database.ts";
import { chunksOf, inTransaction } from "./database.ts";
import { foldResults } from "./fold.ts";
import type { NewResult } from "./fold.ts";
import { toPendingRun } from "./pending-runs.ts";
import type { MissedRun, Recorded } from "./ports/result-store.ts";
import type { PendingRun } from "./ports/run-store.ts";

export async function recordReports(
  database: Database,
  reports: readonly RunReport[],
): Promise<Recorded> {
  const byRun = new Map(reports.map((report) => [report.run_id, report]));
  return inTransaction(database, async (transaction) => {
    const ids = [...byRun.keys()].sort();
    const pending = await lockPending(transaction, ids);
    const stored = await lockResults(transaction, ids);
    const accepted: NewResult[] = [];
    let [duplicate, unknown] = [reports.length - byRun.size, 0];
    for (const [id, report] of byRun) {
      const before = stored.get(id);
      const ordered = pending.get(id) ?? before?.ordered;
      if (!ordered || !fits(report, ordered.location_id)) unknown += 1;
      else if (
        before &&
        (before.result.meta.result !== "MISSED" || isMissed(report))
      )
        duplicate += 1;
      else
        accepted.push(
          ...report.results.map((result) => ({
            owner: ordered.owner,
            result,
            replaces: before?.result,
          })),
        );
    }
    await store(transaction, accepted);
    await removePending(transaction, [
      ...stored.keys(),
      ...accepted.map(({ result }) => result.id),
    ]);
    const late = accepted.filter(({ replaces }) => replaces).length;
    return { recorded: accepted.length, late, duplicate, unknown };
  });
}

/** A report is about one ordered run, and comes from where that run was ordered. */
const fits = (report: RunReport, locationId: string): boolean =>
  report.location_id === locationId &&
  report.results.every(
    ({ id, meta }) => id === report.run_id && meta.location_id === locationId,
  );

const isMissed = (report: RunReport): boolean =>
  report.results.every(({ meta }) => meta.result === "MISSED");

export async function recordMissedRuns(
  database: Database,
  missed: readonly MissedRun[],
): Promise<number> {
  return inTransaction(database, async (transaction) => {
    const ids = missed.map(({ run }) => run.result_id).sort();
    await lockPending(transaction, ids);
    const stored = await lockResults(transaction, ids);
    const accepted = missed
      .filter(({ run }) => !stored.has(run.result_id))
      .map((outcome) => ({
        owner: outcome.run.owner,
        result: missedResult(outcome),
        replaces: undefined,
      }));
    await store(transaction, accepted);
    await removePending(transaction, ids);
    return accepted.length;
  });
}

async function store(
  database: Database,
  accepted: readonly NewResult[],
): Promise<void> {
  for (const chunk of chunksOf(accepted, 200)) {
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
  await foldResults(database, accepted);
}

/** Locks what is about to be decided on, so that two aggregators, or one and the reconciler, follow one another. */
async function lockPending(
  { kysely, rowLocks }: Database,
  ids: readonly string[],
): Promise<Map<string, PendingRun>> {
  const found = new Map<string, PendingRun>();
  for (const chunk of chunksOf(ids)) {
    const query = kysely
      .selectFrom("pending_runs")
      .selectAll()
      .where("result_id", "in", chunk)
      .orderBy("result_id");
    for (const row of await (rowLocks ? query.forUpdate() : query).execute())
      found.set(row.result_id, toPendingRun(row));
  }
  return found;
}

interface StoredOutcome {
  readonly result: Result;
  readonly ordered: { readonly owner: string; readonly location_id: string };
}

async function lockResults(
  { kysely, rowLocks }: Database,
  ids: readonly string[],
): Promise<Map<string, StoredOutcome>> {
  const found = new Map<string, StoredOutcome>();
  for (const chunk of chunksOf(ids)) {
    const query = kysely
      .selectFrom("results")
      .select(["id", "owner", "location_id", "document"])
      .where("id", "in", chunk)
      .orderBy("id");
    for (const { id, document, ...ordered } of await (
      rowLocks ? query.forUpdate() : query
    ).execute())
      found.set(id, { result: JSON.parse(document) as Result, ordered });
  }
  return found;
}

async function removePending(
  { kysely }: Database,
  ids: readonly string[],
): Promise<void> {
  for (const chunk of chunksOf(ids))
    await kysely
      .deleteFrom("pending_runs")
      .where("result_id", "in", chunk)
      .execute();
}

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
    document: JSON.stringify(result),
  };
}

/** The outcome of a run that no agent carried out. */
function missedResult({ run, result, message }: MissedRun): Result {
  return {
    id: run.result_id,
    meta: {
      call_id: run.target_id,
      workflow_id: null,
      workflow_result_id: null,
      deployment_id: run.deployment_id,
      location_id: run.location_id,
      agent_id: null,
      trigger: run.trigger,
      trigger_time: formatInstant(run.trigger_time),
      due_time: formatInstant(run.due_time),
      start_time: null,
      end_time: null,
      result,
      result_category: categoryOf(result),
      message,
      domain: "",
      url: "",
      http_code: null,
      source_ip: null,
      dest_ip: null,
      request_size: null,
      response_size: null,
      redirects: 0,
      is_late: false,
    },
    timing: NO_TIMING,
    request: null,
    response: null,
    hops: [],
  };
}
