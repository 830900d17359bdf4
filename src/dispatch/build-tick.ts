// Builds ticks, the self-contained orders to agents, from pending runs and their currently stored
// targets.
import { canRun, hasNoKey, identityOf, ownerOf } from "../model/access.ts";
import type { Call } from "../model/call.ts";
import type { Tick, TickCall } from "../model/tick.ts";
import type { Workflow } from "../model/workflow.ts";
import { shortHash, stepIds } from "../runtime/ids.ts";
import type { Documents, PendingRun, StoredDocument, UnreportedOutcome } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { withCredentials } from "./credentials.ts";
import { withEnvironment } from "./environment.ts";
import type { Ordered } from "./environment.ts";
import { createWaitingRuns } from "./waiting-runs.ts";

/**
 * Builds the ticks, with the credentials and environment values of their calls. Current rights
 * apply: withdrawn sharing and revoked keys also end runs ordered before. Runs are unable to run if
 * `waiting` has no room for their credentials or values.
 */
export async function buildTicks(
  store: Store,
  runs: readonly PendingRun[],
  waiting = createWaitingRuns(Infinity),
): Promise<{ readonly ticks: readonly Tick[]; readonly unable: readonly UnreportedOutcome[] }> {
  const page = await readPage(store, runs);
  let ordered: Ordered[] = [];
  const unable: UnreportedOutcome[] = [];
  for (const run of runs) {
    const tick = tickOf(run, page);
    if (typeof tick === "string") unable.push(unableToRun(run, tick));
    else ordered.push({ tick, run });
  }
  const isAnyAuthorized = [...page.calls.values()].some(isAuthorized);
  if (isAnyAuthorized) ordered = await withCredentials(store, ordered, page);
  const { admitted = [], refused = [] } = Object.groupBy(ordered, ({ tick, run }) =>
    waiting.admitsCredentials(run, tick) ? "admitted" : "refused",
  );
  const complete = admitted.some(namesEnvironment)
    ? await withEnvironment(store, admitted, waiting)
    : { ticks: admitted.map(({ tick }) => tick), refused: [] };
  for (const { run } of [...refused, ...complete.refused])
    unable.push(unableToRun(run, waiting.refusal));
  for (const { run } of unable) waiting.forget(run);
  return { ticks: complete.ticks, unable };
}

export const DEPLOYMENT_DELETED = "the deployment was deleted before its run";

/** The outcome of a run that no agent gets; the message says why. */
export const unableToRun = (run: PendingRun, message: string): UnreportedOutcome => ({
  run,
  result: "UNABLE_TO_RUN",
  message,
});

/** The stored data of a page of runs. */
interface Page {
  readonly workflows: Documents;
  readonly calls: Documents;
  /** The identities that have an active key. */
  readonly withKey: ReadonlySet<string>;
  /** The locations that no longer exist. */
  readonly removed: ReadonlySet<string>;
}

async function readPage(store: Store, runs: readonly PendingRun[]): Promise<Page> {
  const { call = [], workflow = [] } = Object.groupBy(runs, ({ target_kind }) => target_kind);
  const workflows = await store.documents.getMany("workflow", targetIds(workflow));
  const calls = await store.documents.getMany("call", [
    ...targetIds(call),
    ...workflow.flatMap(({ call_ids }) => call_ids ?? []),
    ...[...workflows.values()].flatMap(callIdsOf),
  ]);
  const authorized = [...calls.values()].filter(isAuthorized);
  const withKey = await store.apiKeys.ownersWithKey([...runs, ...authorized]);
  const locations = await store.locations.listAll();
  const removed = new Set(locations.flatMap(({ id, removed }) => (removed === null ? [] : id)));
  return { workflows, calls, withKey, removed };
}

const targetIds = (runs: readonly PendingRun[]): string[] => runs.map(({ target_id }) => target_id);

const callIdsOf = ({ document }: StoredDocument): readonly string[] =>
  (document as Workflow).workflow.call_ids;

const isAuthorized = ({ document }: StoredDocument): boolean =>
  (document as Call).request.auth_id !== null;

/** Whether any text of a call, credentials included, has a `{{name}}`. */
const namesEnvironment = ({ tick }: Ordered): boolean =>
  /\{\{|%7B%7B/i.test(JSON.stringify(tick.calls));

/** Returns the tick, or why there is nothing to run. */
function tickOf(run: PendingRun, { workflows, calls, withKey, removed }: Page): Tick | string {
  if (removed.has(run.location_id)) return "the location was removed before its run";
  const isWorkflow = run.target_kind === "workflow";
  const target = (isWorkflow ? workflows : calls).get(run.target_id);
  if (!target) return `the ${run.target_kind} was deleted before its run`;
  const forbidden = withoutRight(run, target, withKey);
  if (forbidden !== undefined) return forbidden;
  return isWorkflow
    ? workflowTick(run, target, calls)
    : { ...withoutCalls(run), calls: [tickCall(run.result_id, target)] };
}

/** Returns why the owner or caller may no longer run the target; undefined if they may. */
function withoutRight(
  run: PendingRun,
  target: StoredDocument,
  withKey: ReadonlySet<string>,
): string | undefined {
  const who = run.trigger === "SCHEDULE" ? "the deployment's owner" : "the caller";
  if (!canRun(ownerOf(run), target)) return `${who} may no longer run the ${run.target_kind}`;
  return withKey.has(identityOf(run)) ? undefined : hasNoKey(who, run);
}

/** A run keeps its plan: published again, it has the same calls with the same result ids. */
function workflowTick(run: PendingRun, workflow: StoredDocument, calls: Documents): Tick | string {
  const callIds = run.call_ids ?? callIdsOf(workflow);
  if (callIds.length === 0) return "the workflow has no calls";
  const ids = stepIds(run.due_time, run.result_id, callIds.length);
  const owner = ownerOf(workflow);
  const { meta, workflow: settings } = workflow.document as Workflow;
  return {
    ...withoutCalls(run),
    calls: callIds.map((callId, step) => {
      const [resultId, call] = [ids[step] as string, calls.get(callId)];
      return call && canRun(owner, call) ? tickCall(resultId, call) : missingCall(resultId, callId);
    }),
    workflow: {
      workflow_id: workflow.id,
      name: meta.name,
      stop_on_failure: settings.stop_on_failure,
      handle_cookies: settings.handle_cookies,
      between_calls_delay: run.between_calls_delay,
    },
  };
}

const withoutCalls = (run: PendingRun): Omit<Tick, "calls"> => ({
  result_id: run.result_id,
  trigger: run.trigger,
  trigger_time: run.trigger_time,
  due_time: run.due_time,
  latest_start: run.latest_start,
  deployment_id: run.deployment_id,
  location_id: run.location_id,
  owner_hash: shortHash(identityOf(run)),
  context: { ...run.context },
});

function tickCall(result_id: string, call: StoredDocument): TickCall {
  const { meta, request } = call.document as Call;
  const { method, url, parameters, headers, body } = request;
  return {
    result_id,
    call_id: call.id,
    name: meta.name,
    domain: meta.domain,
    tags: [...meta.tags],
    request: { method, url, parameters, headers, body },
  };
}

const missingCall = (result_id: string, call_id: string): TickCall => ({
  result_id,
  call_id,
  name: "",
  domain: "",
  tags: [],
  request: { method: "", url: "", parameters: [], headers: [], body: null },
  unable: "the call was deleted, or the workflow's owner may no longer run it",
});
