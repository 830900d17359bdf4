// What the agent says of a call: from what was observed to a result, secrets masked.
import { maskPairs, maskUrl } from "../model/credential-names.ts";
import { LIMITS } from "../model/fields.ts";
import { formatInstant } from "../model/instant.ts";
import { createMask, MASK } from "../model/mask.ts";
import { categoryOf, LATE_AFTER_MS, NO_TIMING } from "../model/result.ts";
import type { ReportedResult, Result, RunReport } from "../model/result.ts";
import type { Tick, TickCall } from "../model/tick.ts";
import { textOfHeader } from "./http/http-request.ts";
import type { HttpRequest } from "./http/http-request.ts";
import { credentialsIn } from "./http/credentials.ts";
import type { CallOutcome } from "./http/http-call.ts";
import { withinMessage } from "./reporting/report-size.ts";
import { maskedContent } from "./reported-content.ts";
import { timingOf } from "./http/trace.ts";
import type { Trace } from "./http/trace.ts";

/** Who reports. */
export interface Reporter {
  readonly locationId: string;
  readonly agentId: string;
}

type Mask = (text: string) => string;

/** A result keeps this much of a request's body. */
const MAX_KEPT_BODY = 8 * 1024;
/** And this much of it is looked through for secrets. */
const MAX_MASKED_BODY = 1024 * 1024;
// A character takes twelve bytes at most, as two escapes of JSON.
const MAX_SECRET = 12 * LIMITS.secret;

export const reportOf = (
  { locationId, agentId }: Reporter,
  tick: Tick,
  results: Result[],
): RunReport => ({
  run_id: tick.result_id,
  location_id: locationId,
  agent_id: agentId,
  results: withinMessage(results),
});

/**
 * `start` is in epoch milliseconds. The call ends where its last exchange does, whatever the agent
 * looked into then.
 */
export function resultOfCall(
  reporter: Reporter,
  tick: Tick,
  call: TickCall,
  { result, message, hops, last }: CallOutcome,
  start: number,
  secrets: readonly string[] = [],
): ReportedResult {
  const [first = last] = hops;
  const traces = [...hops, last];
  // Servers echo requests: what was sent as a credential may come back anywhere.
  const sent = traces.flatMap(({ request }) => credentialsIn(request));
  const mask = createMask([...secrets, ...sent]);
  const category = categoryOf(result);
  return {
    id: call.result_id,
    meta: {
      ...originOf(reporter, tick, call),
      start_time: formatInstant(start),
      end_time: formatInstant(start + last.ended - first.started),
      result,
      result_category: category,
      message: message && mask(message),
      url: mask(maskUrl(first.request.url.href)),
      http_code: last.response?.status_code ?? null,
      source_ip: last.sourceIp,
      dest_ip: last.destIp,
      request_size: last.requestSize,
      response_size: last.responseSize,
      redirects: hops.length,
      is_late: start - tick.due_time > LATE_AFTER_MS,
    },
    timing: category === null ? NO_TIMING : timingOf(last, first.started),
    request: shownRequest(last.request, mask),
    response: shownResponse(last.response, mask),
    hops: hops.map((hop) => hopOf(hop, mask)),
    certificate: last.certificate,
    content: maskedContent(last.content, mask),
  };
}

function originOf({ locationId, agentId }: Reporter, tick: Tick, call: TickCall) {
  return {
    call_id: call.call_id,
    workflow_id: tick.workflow?.workflow_id ?? null,
    workflow_result_id: tick.workflow ? tick.result_id : null,
    deployment_id: tick.deployment_id,
    location_id: locationId,
    agent_id: agentId,
    trigger: tick.trigger,
    trigger_time: formatInstant(tick.trigger_time),
    due_time: formatInstant(tick.due_time),
    domain: call.domain,
  };
}

const hopOf = (trace: Trace, mask: Mask): Result["hops"][number] => ({
  url: mask(maskUrl(trace.request.url.href)),
  http_code: trace.response?.status_code ?? null,
  dest_ip: trace.destIp,
  timing: timingOf(trace, trace.started),
});

const shownRequest = (
  { method, url, headers, body, confidential }: HttpRequest,
  mask: Mask,
): Result["request"] => ({
  url: mask(maskUrl(url.href)),
  method,
  headers: maskPairs(headers).map(({ key, value }) => ({
    key: mask(key),
    value: confidential?.headers.includes(key.toLowerCase()) ? MASK : mask(textOfHeader(value)),
  })),
  body: body === null ? null : shownBody(body, mask),
});

/**
 * Masked before it is cut, so that no part of a secret is left; so the end of what was masked is
 * not shown.
 */
function shownBody(body: Buffer, mask: Mask): string {
  const start = body.subarray(0, MAX_MASKED_BODY);
  const masked = Buffer.from(mask(start.toString()));
  if (body.length <= MAX_KEPT_BODY && masked.length <= MAX_KEPT_BODY) return masked.toString();
  const cutOff = start.length < body.length ? MAX_SECRET : 0;
  const length = Math.min(MAX_KEPT_BODY, masked.length - cutOff);
  const shown = masked.subarray(0, Math.max(0, length)).toString();
  return `${shown}… (${body.length} bytes)`;
}

const shownResponse = (response: Result["response"], mask: Mask): Result["response"] =>
  response && {
    ...response,
    status_string: mask(textOfHeader(response.status_string)),
    headers: maskPairs(response.headers).map(({ key, value }) => ({
      key: mask(key),
      value: mask(
        /^(content-)?location$/i.test(key) ? maskUrl(textOfHeader(value)) : textOfHeader(value),
      ),
    })),
  };
