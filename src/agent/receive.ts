// The response of an exchange, taken in within bounds. A body is decoded and counted, not kept.
import type { IncomingMessage } from "node:http";
import type { KeyValue } from "../model/fields.ts";
import { createBodyDecoder, knownCodings, MAX_CODINGS } from "./decode-body.ts";
import type { BodyDecoder } from "./decode-body.ts";
import { CallFailure } from "./failure.ts";
import type { Trace } from "./trace.ts";

export const MAX_HEADERS = 1000;
/** On the wire, and once more decoded. */
const MAX_BODY_BYTES = 10 * 1024 * 1024;

export function receiveHead(
  incoming: IncomingMessage,
  trace: Trace,
): CallFailure | undefined {
  trace.responseSize = 0;
  trace.response = {
    status_code: incoming.statusCode ?? 0,
    status_string: incoming.statusMessage ?? "",
    headers: pairsOf(incoming.rawHeaders),
  };
  if (trace.response.headers.length > MAX_HEADERS)
    return new CallFailure(
      "too_large",
      `the response has more than ${MAX_HEADERS} headers`,
    );
  // Any three digits pass the parser; 1xx never comes here.
  return trace.response.status_code < 200
    ? new CallFailure(
        "malformed_response",
        `the response has the status ${trace.response.status_code}`,
      )
    : undefined;
}

function pairsOf(raw: readonly string[]): KeyValue[] {
  const pairs: KeyValue[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2)
    pairs.push({ key: raw[at] as string, value: raw[at + 1] as string });
  return pairs;
}

export interface BodyEvents {
  /** The last byte came; it may have to be decoded yet. */
  readonly onEnd: () => void;
  readonly onDone: () => void;
  readonly onFailure: (failure: CallFailure) => void;
}

/** Returns what frees the decoder, to be called however the exchange ends. */
export function receiveBody(
  incoming: IncomingMessage,
  trace: Trace,
  { onEnd, onDone, onFailure }: BodyEvents,
): () => void {
  const codings = knownCodings(incoming.headers["content-encoding"] ?? "");
  let decoder: BodyDecoder | undefined;
  let size = 0;
  incoming.on("data", (chunk: Buffer) => {
    size += chunk.length;
    trace.responseSize = Math.min(size, MAX_BODY_BYTES);
    const fault = bodyFault(size, codings);
    if (fault) return onFailure(fault);
    if (codings.length === 0) return;
    // Made by the first byte: a response to HEAD has the header, and no body to decode.
    decoder ??= createBodyDecoder(codings, chunk, MAX_BODY_BYTES, onFailure);
    if (decoder.write(chunk)) return;
    incoming.pause();
    decoder.onceReady(() => incoming.resume());
  });
  incoming.on("end", () => {
    onEnd();
    if (decoder) decoder.end(onDone);
    else onDone();
  });
  return () => decoder?.destroy();
}

function bodyFault(
  size: number,
  codings: readonly string[],
): CallFailure | undefined {
  if (size > MAX_BODY_BYTES)
    return new CallFailure(
      "too_large",
      `the body is larger than ${MAX_BODY_BYTES} bytes`,
    );
  return codings.length > MAX_CODINGS
    ? new CallFailure(
        "malformed_response",
        `the body is encoded more than ${MAX_CODINGS} times`,
      )
    : undefined;
}
