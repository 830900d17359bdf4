// The response of an exchange, taken in within bounds.
import type { Dispatcher } from "undici";
import type { KeyValue } from "../../model/fields.ts";
import { createBodyDecoder, knownCodings, MAX_CODINGS } from "./decode-body.ts";
import type { BodyDecoder } from "./decode-body.ts";
import { CallFailure } from "./failure.ts";
import { createKeptBody } from "./kept-body.ts";
import type { Trace } from "./trace.ts";

const MAX_HEADERS = 1000;
/** On the wire, and once more decoded. */
const MAX_BODY_BYTES = 10 * 1024 * 1024;

type Controller = Pick<Dispatcher.DispatchController, "rawHeaders" | "pause" | "resume">;

export interface Receiver {
  /** Interim responses (RFC 9110 section 15.2) come here too, before the final one. */
  head(controller: Controller, status: number, statusText: string): void;
  data(controller: Controller, chunk: Buffer): void;
  end(): void;
  /** To be called however the exchange ends; what comes after it is not taken in. */
  free(): void;
}

export interface ReceiverEvents {
  /** The last byte came; it may have to be decoded yet. */
  readonly onEnd: () => void;
  readonly onDone: () => void;
  readonly onFailure: (failure: CallFailure) => void;
}

export function createReceiver(
  trace: Trace,
  { onEnd, onDone, onFailure }: ReceiverEvents,
): Receiver {
  let codings: readonly string[] = [];
  let decoder: BodyDecoder | undefined;
  let size = 0;
  let announced: number | undefined;
  let freed = false;
  const body = createKeptBody();
  const decoded = { maxBytes: MAX_BODY_BYTES, onData: body.add, onFailure };
  const finish = (): void => {
    const headers = trace.response?.headers ?? [];
    trace.content = body.content(valueOf(headers, "content-type") || null);
    onDone();
  };
  return {
    head({ rawHeaders }, status, statusText) {
      if (isInterim(status)) return;
      trace.responseSize = 0;
      const headers = pairsOf(rawHeaders);
      trace.response = {
        status_code: status,
        status_string: statusText,
        headers,
      };
      announced = lengthOf(headers);
      codings = knownCodings(valueOf(headers, "content-encoding"));
      const fault = headFault(status, headers.length);
      if (fault) onFailure(fault);
    },
    data(controller, chunk) {
      if (freed) return;
      size += chunk.length;
      trace.responseSize = Math.min(size, MAX_BODY_BYTES);
      const fault = bodyFault(size, codings);
      if (fault) return onFailure(fault);
      if (codings.length === 0) return body.add(chunk);
      // Made by the first byte: a response to HEAD has the header, and no body to decode.
      decoder ??= createBodyDecoder(codings, decoded);
      // Where nothing is left to come, undici would take the close that follows for an early one.
      if (decoder.write(chunk) || size === announced) return;
      controller.pause();
      decoder.onceReady(() => controller.resume());
    },
    end() {
      if (freed) return;
      onEnd();
      if (decoder) decoder.end(finish);
      else finish();
    },
    free() {
      freed = true;
      decoder?.destroy();
    },
  };
}

/** One character for each byte that the server sent. */
function pairsOf(raw: Controller["rawHeaders"]): KeyValue[] {
  if (!Array.isArray(raw)) return [];
  const pairs: KeyValue[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2)
    pairs.push({ key: latin1(raw[at]), value: trimmed(latin1(raw[at + 1])) });
  return pairs;
}

// White space around a value is no part of it (RFC 9110 section 5.5). Greedy, to be linear for any
// amount within it.
const trimmed = (value: string): string => /[^ \t](?:.*[^ \t])?/s.exec(value)?.[0] ?? "";

const latin1 = (text: string | Buffer | undefined): string =>
  typeof text === "string" ? text : (text?.toString("latin1") ?? "");

/** All values of a header in one (RFC 9110 section 5.3); "" where there is none. */
const valueOf = (headers: readonly KeyValue[], name: string): string =>
  headers
    .filter(({ key }) => key.toLowerCase() === name)
    .map(({ value }) => value)
    .join(",");

const lengthOf = (headers: readonly KeyValue[]): number | undefined => {
  const length = valueOf(headers, "content-length");
  return length === "" ? undefined : Number(length);
};

const isInterim = (status: number): boolean => status >= 100 && status < 200 && status !== 101;

const malformed = (text: string): CallFailure => new CallFailure("malformed_response", text);

function headFault(status: number, headers: number): CallFailure | undefined {
  if (headers > MAX_HEADERS)
    return new CallFailure("too_large", `the response has more than ${MAX_HEADERS} headers`);
  if (status === 101)
    return malformed("the server switched to another protocol without being asked");
  // Any three digits pass the parser.
  return status < 200 ? malformed(`the response has the status ${status}`) : undefined;
}

function bodyFault(size: number, codings: readonly string[]): CallFailure | undefined {
  if (size > MAX_BODY_BYTES)
    return new CallFailure("too_large", `the body is larger than ${MAX_BODY_BYTES} bytes`);
  return codings.length > MAX_CODINGS
    ? malformed(`the body is encoded more than ${MAX_CODINGS} times`)
    : undefined;
}
