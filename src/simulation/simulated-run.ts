// Simulated runs: each as it was ordered, with the report that an agent might have made of it.
import { formatInstant } from "../model/instant.ts";
import { resultWithoutCall } from "../model/result-without-call.ts";
import { categoryOf } from "../model/result.ts";
import type { ReportedResult, RunReport } from "../model/result.ts";
import { dueRun, expiryOf, MINUTE_MS, nextTrigger } from "../model/slots.ts";
import { placeInSecond } from "../model/tick.ts";
import type { Timing } from "../model/timing.ts";
import { scheduledRunId } from "../runtime/ids.ts";
import type { PendingRun } from "../store/records.ts";
import { conditionsAt } from "./conditions.ts";
import type { Conditions } from "./conditions.ts";
import { exchange, toThree } from "./exchange.ts";
import type { Series, SimulatedCall } from "./plan.ts";
import { createRandom, partOfKey } from "./random.ts";
import type { Random } from "./random.ts";

/** The agent of every simulated result. */
export const SIMULATION = "simulation";

export interface SimulatedRun {
  readonly run: PendingRun;
  readonly report: RunReport;
}

/** Of runs that no agent makes, beside those while it is away. */
const MISSED = 0.0005;
/** For documentation (RFC 5737). */
const TARGET_ADDRESS = "203.0.113.10";

/** The triggers from `from` (inclusive) until before `until`. */
export function triggersOf(
  { frequency }: Pick<Series, "frequency">,
  from: number,
  until: number,
): number[] {
  const triggers: number[] = [];
  for (let at = nextTrigger(frequency, from - 1); at < until; at = nextTrigger(frequency, at))
    triggers.push(at);
  return triggers;
}

/** The same series and trigger always have the same outcome. */
export function simulatedRun(series: Series, trigger: number): SimulatedRun {
  const { location } = series;
  const random = createRandom(partOfKey(series.key, trigger / MINUTE_MS));
  const conditions = conditionsAt(series, trigger);
  const run = orderedRun(series, trigger);
  const isMissed = conditions.unattended || random.chance(MISSED);
  const result = isMissed ? missedResult(series, run) : madeResult(series, run, conditions, random);
  const { result_id: run_id } = run;
  return {
    run,
    report: { run_id, location_id: location.id, agent_id: SIMULATION, results: [result] },
  };
}

function orderedRun(series: Series, trigger: number): PendingRun {
  const { call, location, deploymentId, frequency, owner, owner_org } = series;
  const due = dueRun({ frequency, run_delay: 0 }, trigger);
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
    owner,
    owner_org,
    ...due,
    expires_at: expiryOf(due.latest_start),
  };
}

function missedResult({ call, location }: Series, run: PendingRun): ReportedResult {
  const { id: call_id, domain, method, url } = call;
  return resultWithoutCall(
    run,
    { result_id: run.result_id, call_id, domain, request: { method, url } },
    {
      result: "MISSED",
      message: `agent_offline: no agent was online at location '${location.id}' when the run was due`,
    },
    SIMULATION,
  );
}

function madeResult(
  series: Series,
  run: PendingRun,
  conditions: Conditions,
  random: Random,
): ReportedResult {
  const { call, location, deploymentId } = series;
  const hops = call.kind.redirected ? [redirect(series, conditions, random)] : [];
  const last = exchange(series, conditions, random);
  const { result, status, message } = last;
  const start = run.due_time + placeInSecond(deploymentId) + Math.floor(random.between(0, 4));
  const timing = withTotal(last.timing, hops);
  const dest_ip = last.timing.tcp === null ? null : TARGET_ADDRESS;
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
      domain: call.domain,
      url: call.url,
      http_code: status,
      source_ip: dest_ip && location.address,
      dest_ip,
      request_size: dest_ip && 180,
      response_size: status && Math.round(random.logNormal(2400, 0.2)),
      redirects: hops.length,
      is_late: false,
    },
    timing,
    request: {
      url: hops.length > 0 ? movedTo(call) : call.url,
      method: call.method,
      headers: [],
      body: null,
    },
    response: status === null ? null : responseOf(status),
    hops,
    certificate: null,
  };
}

type Hop = ReportedResult["hops"][number];

function redirect(series: Series, conditions: Conditions, random: Random): Hop {
  const { timing } = exchange(series, { ...conditions, failing: 0 }, random);
  const { url } = series.call;
  return { url, http_code: 301, dest_ip: TARGET_ADDRESS, timing };
}

const movedTo = ({ url }: SimulatedCall): string => `${url}/moved`;

/** With the time of the redirects. */
function withTotal(timing: Timing, hops: readonly Hop[]): Timing {
  const redirects = hops.reduce((sum, hop) => sum + (hop.timing.total ?? 0), 0);
  return { ...timing, total: toThree((timing.total ?? 0) + redirects) };
}

const STATUS_TEXTS: Readonly<Record<number, string>> = {
  200: "OK",
  404: "Not Found",
  500: "Internal Server Error",
  503: "Service Unavailable",
};

const responseOf = (status: number): ReportedResult["response"] => ({
  status_code: status,
  status_string: STATUS_TEXTS[status] ?? "",
  headers: [{ key: "Content-Type", value: "application/json" }],
});
