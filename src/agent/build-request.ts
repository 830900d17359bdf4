// Builds a call's request as it goes on the wire, or says why it cannot be sent.
import type { KeyValue } from "../model/fields.ts";
import { isFramingHeader } from "../model/framing-headers.ts";
import { hasControlCharacter, isToken, repeatedName } from "../model/header.ts";
import { percentEncoded } from "../model/percent-encoding.ts";
import type { TickCall } from "../model/tick.ts";
import { callPart, spanIdOf, traceIdOf } from "../runtime/span-ids.ts";
import { MAX_URL_LENGTH } from "./http/http-request.ts";
import type { BuiltRequest } from "./http/http-request.ts";

const MAX_HEADER_BYTES = 64 * 1024;

interface RequestOf {
  readonly runId: string;
  /** The agent's version. */
  readonly version: string;
}

export function buildRequest(call: TickCall, of: RequestOf): BuiltRequest {
  const { method, body, headers } = call.request;
  const url = buildUrl(call);
  if (typeof url === "string") return { reason: url };
  if (!isToken(method)) return { reason: "the method is not an HTTP token" };
  if (method.toUpperCase() === "CONNECT")
    return { reason: "CONNECT opens a tunnel, which Sonde does not support" };
  const fault = headersFault(headers);
  if (fault) return { reason: fault };
  return {
    request: {
      method,
      url,
      headers: withAgentHeaders(call, url, of),
      body: body === null || body === "" ? null : Buffer.from(body),
    },
  };
}

function buildUrl({ request: { url, parameters } }: TickCall): URL | string {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
    return "the URL is not a valid http or https URL";
  const parsed = new URL(url);
  if (parsed.username !== "" || parsed.password !== "") return "the URL contains credentials";
  const added = parameters
    .map(({ key, value }) => `${percentEncoded(key)}=${percentEncoded(value)}`)
    .join("&");
  if (added !== "") parsed.search = parsed.search === "" ? added : `${parsed.search}&${added}`;
  parsed.hash = "";
  return parsed.href.length > MAX_URL_LENGTH
    ? `the URL is longer than ${MAX_URL_LENGTH} characters`
    : parsed;
}

function headersFault(headers: readonly KeyValue[]): string | undefined {
  let bytes = 0;
  for (const { key, value } of headers) {
    const shown = JSON.stringify(key);
    if (!isToken(key)) return `${shown} is not a valid header name`;
    if (hasControlCharacter(value))
      return `the value of header ${shown} has a control character (line break or NUL)`;
    if (isFramingHeader(key))
      return `the header ${shown} is set by the agent and cannot be overridden`;
    bytes += key.length + Buffer.byteLength(value) + 4;
  }
  const repeated = repeatedName(headers);
  if (repeated !== undefined)
    return `the header ${JSON.stringify(repeated)} is given more than once`;
  return bytes > MAX_HEADER_BYTES
    ? `the headers are larger than ${MAX_HEADER_BYTES} bytes`
    : undefined;
}

/** Calls cannot set this header, so targets can rely on it. */
const RUN_HEADER = "sonde-run";

/** Whether only the agent may set the header. The name is in lower case. */
export const isAgentHeader = (name: string): boolean =>
  isFramingHeader(name) || name === RUN_HEADER;

/** Adds defaults for the headers that the call does not set, and `Sonde-Run`. */
function withAgentHeaders(call: TickCall, url: URL, { runId, version }: RequestOf): KeyValue[] {
  const given = call.request.headers.map(({ key, value }) => ({
    key,
    value: Buffer.from(value.trim()).toString("latin1"),
  }));
  const names = new Set(given.map(({ key }) => key.toLowerCase()));
  names.delete(RUN_HEADER);
  const own = [
    { key: "Host", value: url.host },
    { key: "User-Agent", value: `Sonde/${version}` },
    { key: "Accept", value: "*/*" },
    { key: "traceparent", value: traceparentOf(runId, call.result_id) },
    { key: "Sonde-Run", value: call.result_id },
  ];
  return [
    ...own.filter(({ key }) => !names.has(key.toLowerCase())),
    ...given.filter(({ key }) => key.toLowerCase() !== RUN_HEADER),
  ];
}

/** W3C Trace Context, version 00, sampled, with the ids of the run's trace. */
const traceparentOf = (runId: string, resultId: string): string =>
  `00-${traceIdOf(runId)}-${spanIdOf(runId, callPart(resultId))}-01`;
