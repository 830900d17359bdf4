// The response of an exchange, taken in within bounds. A body is counted, not kept.
import type { IncomingMessage } from "node:http";
import type { KeyValue } from "../model/fields.ts";
import { CallFailure } from "./failure.ts";
import type { Trace } from "./trace.ts";

export const MAX_HEADERS = 1000;
const MAX_BODY_BYTES = 10 * 1024 * 1024;

export type Fail = (failure: CallFailure) => void;

export function receiveHead(
  incoming: IncomingMessage,
  trace: Trace,
  fail: Fail,
): void {
  trace.responseSize = 0;
  trace.response = {
    status_code: incoming.statusCode ?? 0,
    status_string: incoming.statusMessage ?? "",
    headers: pairsOf(incoming.rawHeaders),
  };
  if (trace.response.headers.length > MAX_HEADERS)
    fail(
      new CallFailure(
        "too_large",
        `the response has more than ${MAX_HEADERS} headers`,
      ),
    );
}

function pairsOf(raw: readonly string[]): KeyValue[] {
  const pairs: KeyValue[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2)
    pairs.push({ key: raw[at] as string, value: raw[at + 1] as string });
  return pairs;
}

export function receiveBody(
  incoming: IncomingMessage,
  trace: Trace,
  fail: Fail,
): void {
  let size = 0;
  incoming.on("data", (chunk: Buffer) => {
    size += chunk.length;
    trace.responseSize = Math.min(size, MAX_BODY_BYTES);
    if (size > MAX_BODY_BYTES)
      fail(
        new CallFailure(
          "too_large",
          `the body is larger than ${MAX_BODY_BYTES} bytes`,
        ),
      );
  });
}
