// Makes schedules, runs, reports, documents and API keys with unique ids.
import { randomUUID } from "node:crypto";
import type { TObject } from "typebox";
import { callResource } from "../../src/model/call.ts";
import type { Resource } from "../../src/model/resource.ts";
import { workflowResource } from "../../src/model/workflow.ts";
import { formatInstant } from "../../src/model/instant.ts";
import { categoryOf } from "../../src/model/result.ts";
import type { Result, ResultCode, RunReport } from "../../src/model/result.ts";
import type { Timing } from "../../src/model/timing.ts";
import type { NewDocument, PendingRun, Schedule } from "../../src/store/records.ts";
import { countsOfWorkflow, outcomeOfWorkflow } from "../../src/model/workflow-result.ts";
import { hashApiKey, newApiKey } from "../../src/runtime/api-key.ts";
import { newId, stepIds } from "../../src/runtime/ids.ts";
import type { Store } from "../../src/store/store.ts";
import type { Principal } from "../../src/model/access.ts";

export const T0 = Date.UTC(2026, 9, 1, 12, 0, 0);

/** Of a call that is due each minute. */
export const aSchedule = (change: Partial<Schedule> = {}): Schedule => ({
  deployment_id: newId(T0),
  owner: "ann",
  owner_org: null,
  target_id: "call",
  target_kind: "call",
  between_calls_delay: 0,
  location_id: "local",
  frequency: 1,
  run_delay: 0,
  active_from: T0,
  ...change,
});

export function aRun(change: Partial<PendingRun> = {}): PendingRun {
  const due_time = change.due_time ?? T0;
  return {
    result_id: newId(due_time),
    trigger: "SCHEDULE",
    deployment_id: "deployment",
    target_id: "call",
    target_kind: "call",
    between_calls_delay: 0,
    call_ids: null,
    location_id: "local",
    owner: "ann",
    owner_org: null,
    trigger_time: due_time,
    due_time,
    latest_start: due_time + 30_000,
    expires_at: due_time + 210_000,
    context: {},
    ...change,
  };
}

export interface Outcome {
  readonly result?: ResultCode;
  readonly total?: number | null;
  readonly start?: number;
  readonly timing?: Partial<Timing>;
  readonly location_id?: string;
}

export function aReport(run: PendingRun, outcome: Outcome = {}): RunReport {
  const { location_id = run.location_id } = outcome;
  return {
    run_id: run.result_id,
    location_id,
    agent_id: "agent",
    results: [aResult(run, outcome)],
  };
}

/**
 * Builds the report of a planned workflow run; its calls have these outcomes, by default COMPLETE.
 */
export function aWorkflowReport(run: PendingRun, outcomes: readonly Outcome[] = []): RunReport {
  const callIds = run.call_ids ?? [];
  const ids = stepIds(run.due_time, run.result_id, callIds.length);
  const results = callIds.map((call_id, step): Result => {
    const { meta, ...rest } = aResult(run, outcomes[step]);
    return {
      ...rest,
      id: ids[step] as string,
      meta: {
        ...meta,
        call_id,
        workflow_id: run.target_id,
        workflow_result_id: run.result_id,
      },
    };
  });
  const { location_id } = run;
  return {
    run_id: run.result_id,
    location_id,
    agent_id: "agent",
    results,
    workflow: {
      id: run.result_id,
      meta: {
        workflow_id: run.target_id,
        name: "a workflow",
        deployment_id: run.deployment_id,
        location_id,
        agent_id: "agent",
        trigger: run.trigger,
        trigger_time: formatInstant(run.trigger_time),
        due_time: formatInstant(run.due_time),
        start_time: formatInstant(run.due_time),
        end_time: formatInstant(run.due_time + 1000),
        ...outcomeOfWorkflow(results),
        is_late: false,
      },
      counts: countsOfWorkflow(results),
    },
  };
}

export function aResult(run: PendingRun, outcome: Outcome = {}): Result {
  const {
    result = "COMPLETE",
    total = 120,
    start = run.due_time,
    timing = {},
    location_id = run.location_id,
  } = outcome;
  const made = categoryOf(result) !== null;
  return {
    id: run.result_id,
    meta: {
      call_id: run.target_id,
      workflow_id: null,
      workflow_result_id: null,
      deployment_id: run.deployment_id,
      location_id,
      agent_id: "agent",
      trigger: run.trigger,
      trigger_time: formatInstant(run.trigger_time),
      due_time: formatInstant(run.due_time),
      start_time: made ? formatInstant(start) : null,
      end_time: made ? formatInstant(start + (total ?? 0)) : null,
      result,
      result_category: categoryOf(result),
      message: null,
      domain: "target.test",
      url: "http://target.test/",
      http_code: made ? 200 : null,
      source_ip: null,
      dest_ip: null,
      request_size: made ? 100 : null,
      response_size: made ? 512 : null,
      redirects: 0,
      is_late: false,
    },
    timing: {
      dns: null,
      tcp: 1.5,
      handshake: null,
      upload: 0.25,
      processing: 20,
      download: 2,
      uncertainty: made ? 0.5 : null,
      ...timing,
      total: made ? total : null,
    },
    request: null,
    response: null,
    hops: [],
  };
}

/** Builds a stored workflow of these calls. */
export const aWorkflow = (
  call_ids: readonly string[],
  change: Partial<NewDocument> = {},
): NewDocument => {
  const body = { meta: { name: `workflow ${randomUUID()}` }, workflow: { call_ids } };
  return aDocument(workflowResource, body, change);
};

interface CallChange extends Partial<NewDocument> {
  readonly name?: string;
  readonly url?: string;
}

/** Builds a stored call. */
export function aCall(change: CallChange = {}): NewDocument {
  const { name = `call ${randomUUID()}`, url = "https://target.test/path", ...rest } = change;
  const body = { meta: { name }, request: { method: "get", url } };
  return aDocument(callResource, body, rest);
}

/** Builds a stored document, private by default. */
function aDocument<S extends TObject>(
  resource: Resource<S>,
  body: object,
  change: Partial<NewDocument>,
): NewDocument {
  const { id = newId(T0), owner = "ann" } = change;
  const document = resource.create(body, { id, owner, now: T0 });
  return {
    id,
    kind: resource.kind,
    owner,
    owner_org: null,
    org: false,
    community: false,
    document,
    filters: resource.filters(document),
    ...(resource.callIds && { callIds: resource.callIds(document) }),
    ...change,
  };
}

/** Stores an active key, by default an OWNER key of "ann", and returns it. */
export async function insertKey(
  store: Store,
  now: number,
  change: Partial<Omit<Principal, "key_id">> = {},
): Promise<{ readonly key: string; readonly key_id: string }> {
  const [key, key_id] = [newApiKey(), newId(now)];
  const principal = { key_id, owner: "ann", org: null, access_level: "OWNER", ...change } as const;
  await store.apiKeys.insert(
    { ...principal, name: null, created: now, last_update: now, revoked: false },
    hashApiKey(key),
  );
  return { key, key_id };
}
