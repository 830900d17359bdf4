// Builds the report of a run: the results of its calls, with secrets masked, and of its workflow.
import type { Content } from "../model/content.ts";
import { LIMITS } from "../model/fields.ts";
import { formatInstant } from "../model/instant.ts";
import { createMask, MASK, maskPairs, maskUrl } from "../model/mask.ts";
import { categoryOf } from "../model/result.ts";
import type { ReportedResult, Result, RunReport, WorkflowResult } from "../model/result.ts";
import type { Tick, TickCall, TickWorkflow } from "../model/tick.ts";
import { NO_TIMING } from "../model/timing.ts";
import { countsOfWorkflow, outcomeOfWorkflow } from "../model/workflow-result.ts";
import type { CallOutcome } from "./http/http-call.ts";
import { textOfHeader } from "./http/http-request.ts";
import type { HttpRequest } from "./http/http-request.ts";
import { timingOf } from "./http/trace.ts";
import type { Trace } from "./http/trace.ts";
import { withinMessage } from "./reporting/report-size.ts";

/** The agent that reports. */
export interface Reporter {
  readonly locationId: string;
  readonly agentId: string;
}

export type WorkflowTick = Tick & { readonly workflow: TickWorkflow };

type Mask = (text: string) => string;

/** Maximum bytes kept of a request's body. */
const MAX_KEPT_BODY = 8 * 1024;
/** Maximum bytes of a request's body to search for secrets. */
const MAX_MASKED_BODY = 1024 * 1024;
// In bytes: a character takes at most twelve, as two JSON escapes.
const MAX_SECRET = 12 * LIMITS.secret;

export const reportOf = (
  { locationId, agentId }: Reporter,
  tick: Tick,
  results: readonly Result[],
  workflow?: WorkflowResult,
): RunReport => ({
  run_id: tick.result_id,
  location_id: locationId,
  agent_id: agentId,
  results: withinMessage(results),
  ...(workflow && { workflow }),
});

export const resultOfWorkflow = (
  reporter: Reporter,
  tick: WorkflowTick,
  results: readonly Result[],
  times: Pick<WorkflowResult["meta"], "start_time" | "end_time" | "is_late">,
): WorkflowResult => ({
  id: tick.result_id,
  meta: {
    workflow_id: tick.workflow.workflow_id,
    name: tick.workflow.name,
    ...originOf(reporter, tick),
    ...times,
    ...outcomeOfWorkflow(results),
  },
  counts: countsOfWorkflow(results),
});

export interface MadeCall {
  readonly outcome: CallOutcome;
  /** Quotes the call's definition: masking would hide a reference in a credential. */
  readonly note: string | null;
  /** Epoch milliseconds. */
  readonly start: number;
  readonly isLate: boolean;
  /** Values to mask: the call's secrets and the credentials it sent. */
  readonly secrets: readonly string[];
}

/** A result, with the body of its response. */
type MadeResult = Result & Pick<ReportedResult, "content">;

/** A call ends with its last exchange: the uplink check after a failure is not part of it. */
export function resultOfCall(
  reporter: Reporter,
  tick: Tick,
  call: TickCall,
  { outcome, note, start, isLate, secrets }: MadeCall,
): MadeResult {
  const { result, message, hops, last } = outcome;
  const [first = last] = hops;
  const mask = createMask(secrets);
  const category = categoryOf(result);
  return {
    id: call.result_id,
    meta: {
      call_id: call.call_id,
      workflow_id: tick.workflow?.workflow_id ?? null,
      workflow_result_id: tick.workflow ? tick.result_id : null,
      ...originOf(reporter, tick),
      start_time: formatInstant(start),
      end_time: formatInstant(start + last.ended - first.started),
      result,
      result_category: category,
      message: [message && mask(message), note].filter(Boolean).join("; ") || null,
      domain: call.domain,
      url: mask(maskUrl(first.request.url.href)),
      http_code: last.response?.status_code ?? null,
      source_ip: last.sourceIp,
      dest_ip: last.destIp,
      request_size: last.requestSize,
      response_size: last.responseSize,
      redirects: hops.length,
      is_late: isLate,
    },
    timing: category === null ? NO_TIMING : timingOf(last, first),
    request: shownRequest(last.request, mask),
    response: shownResponse(last.response, mask),
    hops: hops.map((hop) => shownHop(hop, mask)),
    certificate: last.certificate,
    content: shownContent(last.content, mask),
  };
}

const originOf = ({ locationId, agentId }: Reporter, tick: Tick) => ({
  deployment_id: tick.deployment_id,
  location_id: locationId,
  agent_id: agentId,
  trigger: tick.trigger,
  trigger_time: formatInstant(tick.trigger_time),
  due_time: formatInstant(tick.due_time),
});

const shownHop = (trace: Trace, mask: Mask): Result["hops"][number] => ({
  url: mask(maskUrl(trace.request.url.href)),
  http_code: trace.response?.status_code ?? null,
  dest_ip: trace.destIp,
  timing: timingOf(trace),
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
 * Masks before cutting, so no part of a secret remains. The end of the searched part is left out: a
 * secret may straddle it.
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

// The secrets in a token server's answer (RFC 6749 section 5.1), and passwords.
const SECRET_MEMBER =
  /("(?:access_token|refresh_token|id_token|client_secret|password)"\s*:\s*")(?:[^"\\]|\\.)*"/gi;

const shownContent = (content: Content | null, mask: Mask): Content | null =>
  content && {
    ...content,
    content_type: content.content_type && mask(content.content_type),
    content: content.content && mask(content.content).replace(SECRET_MEMBER, `$1${MASK}"`),
  };
