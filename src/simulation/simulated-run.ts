// Simulated runs: each as ordered, with the report that an agent might have made.
import { formatInstant } from "../model/instant.ts";
import { explainMissed } from "../model/missed.ts";
import { resultWithoutCall } from "../model/result-without-call.ts";
import { categoryOf, SIMULATION } from "../model/result.ts";
import type { ReportedResult, RunReport } from "../model/result.ts";
import { dueRun, expiryOf, MINUTE_MS, nextTrigger } from "../model/slots.ts";
import { placeInSecond } from "../model/tick.ts";
import { scheduledRunId } from "../runtime/ids.ts";
import type { PendingRun } from "../store/records.ts";
import { conditionsAt } from "./conditions.ts";
import { exchange } from "./exchange.ts";
import type { Exchange } from "./exchange.ts";
import type { Plan, Series } from "./plan.ts";
import { createRandom, partOfKey } from "./random.ts";
import type { Random } from "./random.ts";

export interface SimulatedRun {
  readonly run: PendingRun;
  readonly report: RunReport;
}

/** An address for documentation (RFC 5737). */
const TARGET_ADDRESS = "203.0.113.10";

/** Returns the triggers from `from` (inclusive) to `until` (exclusive). */
export function triggersOf({ frequency }: Plan, from: number, until: number): number[] {
  const triggers: number[] = [];
  for (let at = nextTrigger(frequency, from - 1); at < until; at = nextTrigger(frequency, at))
    triggers.push(at);
  return triggers;
}

/** The same series and trigger always have the same outcome. */
export function simulatedRun(series: Series, trigger: number): SimulatedRun {
  const random = createRandom(partOfKey(series.key, trigger / MINUTE_MS));
  const conditions = conditionsAt(series, trigger);
  const run = orderedRun(series, trigger);
  const { result_id: run_id, location_id } = run;
  const result = conditions.unattended
    ? missedResult(series, run)
    : madeResult(series, run, exchange(series, conditions, random), random);
  return { run, report: { run_id, location_id, agent_id: SIMULATION, results: [result] } };
}

function orderedRun({ plan, call, location, deploymentId }: Series, trigger: number): PendingRun {
  const due = dueRun({ frequency: plan.frequency, run_delay: 0 }, trigger);
  return {
    result_id: scheduledRunId(trigger, deploymentId),
    trigger: "SCHEDULE",
    deployment_id: deploymentId,
    target_id: call.id,
    target_kind: "call",
    location_id: location.id,
    context: {},
    between_calls_delay: 0,
    call_ids: null,
    owner: plan.owner,
    owner_org: plan.owner_org,
    ...due,
    expires_at: expiryOf(due.latest_start),
  };
}

const missedResult = ({ call, location }: Series, run: PendingRun): ReportedResult =>
  resultWithoutCall(
    run,
    {
      result_id: run.result_id,
      call_id: call.id,
      domain: call.service.host,
      request: { method: call.service.method, url: call.url },
    },
    {
      result: "MISSED",
      message: explainMissed("agent_offline", location.id),
    },
    SIMULATION,
  );

function madeResult(
  { call, location, deploymentId }: Series,
  run: PendingRun,
  { result, message, status, timing }: Exchange,
  random: Random,
): ReportedResult {
  const { service, url } = call;
  const start = run.due_time + placeInSecond(deploymentId) + Math.floor(random.between(0, 4));
  const isConnected = timing.tcp !== null;
  return {
    id: run.result_id,
    meta: {
      call_id: call.id,
      workflow_id: null,
      workflow_result_id: null,
      deployment_id: deploymentId,
      location_id: location.id,
      agent_id: SIMULATION,
      trigger: run.trigger,
      trigger_time: formatInstant(run.trigger_time),
      due_time: formatInstant(run.due_time),
      start_time: formatInstant(start),
      end_time: formatInstant(start + (timing.total ?? 0)),
      result,
      result_category: categoryOf(result),
      message,
      domain: service.host,
      url,
      http_code: status,
      source_ip: isConnected ? location.address : null,
      dest_ip: isConnected ? TARGET_ADDRESS : null,
      request_size: isConnected ? 180 : null,
      response_size: status === null ? null : Math.round(random.logNormal(2400, 0.2)),
      redirects: 0,
      is_late: false,
    },
    timing,
    request: { url, method: service.method, headers: [], body: null },
    response: status === null ? null : responseOf(status),
    hops: [],
    certificate: null,
  };
}

const STATUS_TEXTS: Readonly<Record<number, string>> = {
  200: "OK",
  500: "Internal Server Error",
  503: "Service Unavailable",
};

const responseOf = (status: number): ReportedResult["response"] => ({
  status_code: status,
  status_string: STATUS_TEXTS[status] ?? "",
  headers: [{ key: "Content-Type", value: "application/json" }],
});
