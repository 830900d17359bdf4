// Receives the response of an exchange within limits: its head, and its body if it is text small
// enough to store.
import type { Dispatcher } from "undici";
import { MAX_CONTENT_BYTES, withoutText } from "../../model/content.ts";
import type { Content } from "../../model/content.ts";
import type { KeyValue } from "../../model/fields.ts";
import { createBodyDecoder, knownCodings, MAX_CODINGS } from "./decode-body.ts";
import type { BodyDecoder } from "./decode-body.ts";
import { CallFailure } from "./failure.ts";
import type { Trace } from "./trace.ts";

const MAX_HEADERS = 1000;
/** Both on the wire and decoded. */
const MAX_BODY_BYTES = 10 * 1024 * 1024;
/** For the whole response: its head and its chunk framing may take as much again as the body. */
export const MAX_RESPONSE_BYTES = 2 * MAX_BODY_BYTES;

type Controller = Pick<Dispatcher.DispatchController, "rawHeaders" | "pause" | "resume">;

/** Calls `settle` with a failure, or without one when the body is complete and decoded. */
export function createResponseReceiver(trace: Trace, settle: (failure?: CallFailure) => void) {
  let codings: readonly string[] = [];
  let decoder: BodyDecoder | undefined;
  let [size, freed] = [0, false];
  const pause = createPause(trace);
  const body = createKeptBody();
  const headerOf = (name: string): string => valueOf(trace.response?.headers ?? [], name);
  /** Whether as many bytes arrived as the head announces. */
  const isWhole = (): boolean => size === Number(headerOf("content-length") || NaN);

  const decode = (controller: Controller, chunk: Buffer): void => {
    // Made on the first byte: a response to HEAD has the header, but no body to decode.
    decoder ??= createBodyDecoder(codings, {
      maxBytes: MAX_BODY_BYTES,
      onData: (decoded) => body.add(decoded),
      onFailure: settle,
    });
    // If paused after the last byte, undici would treat the close that follows as premature.
    if (!decoder.write(chunk) && !isWhole()) pause.begin(decoder, controller);
  };

  const finish = (): void => {
    trace.content = body.content(headerOf("content-type") || null);
    settle();
  };

  return {
    /** Called by undici. */
    onResponseStart: (controller: Controller, status: number, _: unknown, text = ""): void => {
      const fault = readHead(trace, controller, status, text);
      const encoding = headerOf("content-encoding");
      if (encoding !== "") codings = knownCodings(encoding);
      if (fault) settle(fault);
    },
    /** Called by undici. */
    onResponseData: (controller: Controller, chunk: Buffer): void => {
      if (freed) return;
      size += chunk.length;
      trace.responseSize = Math.min(size, MAX_BODY_BYTES);
      const fault = bodyFault(size, codings);
      if (fault) settle(fault);
      else if (codings.length === 0) body.add(chunk);
      else decode(controller, chunk);
    },
    isWhole,
    isPaused: pause.isOn,
    /** Call it after the last byte. */
    end(): void {
      if (freed) return;
      if (decoder) decoder.end(finish);
      else finish();
    },
    /** Call it when the exchange has failed; anything later is dropped. */
    free(): void {
      freed = true;
      pause.end();
      decoder?.destroy();
    },
  };
}

/** Stops reading until the decoder is ready: the agent's delay, not the target's. */
function createPause(trace: Trace) {
  const { clock } = trace;
  let began: number | undefined;
  const end = (): void => {
    if (began !== undefined) trace.held += clock.monotonic() - began;
    began = undefined;
  };
  return {
    isOn: (): boolean => began !== undefined,
    begin(decoder: BodyDecoder, controller: Controller): void {
      controller.pause();
      began = clock.monotonic();
      decoder.onceReady(() => {
        end();
        controller.resume();
      });
    },
    end,
  };
}

/** One character per byte from the server. */
function pairsOf(raw: Controller["rawHeaders"]): KeyValue[] {
  if (!Array.isArray(raw)) return [];
  const pairs: KeyValue[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2)
    pairs.push({ key: latin1(raw[at]), value: trimmed(latin1(raw[at + 1])) });
  return pairs;
}

// White space around a value is not part of it (RFC 9110 section 5.5). Greedy: linear time for any
// value.
const trimmed = (value: string): string => /[^ \t](?:.*[^ \t])?/s.exec(value)?.[0] ?? "";

const latin1 = (text: string | Buffer | undefined): string =>
  typeof text === "string" ? text : (text?.toString("latin1") ?? "");

/** The values of all headers of that name, joined (RFC 9110 section 5.3); "" without any. */
const valueOf = (headers: readonly KeyValue[], name: string): string =>
  headers
    .filter(({ key }) => key.toLowerCase() === name)
    .map(({ value }) => value)
    .join(",");

const malformed = (text: string): CallFailure => new CallFailure("malformed_response", text);

function readHead(
  trace: Trace,
  { rawHeaders }: Controller,
  status: number,
  text: string,
): CallFailure | undefined {
  const headers = pairsOf(rawHeaders);
  trace.responseSize = 0;
  trace.response = { status_code: status, status_string: text, headers };
  if (headers.length > MAX_HEADERS)
    return new CallFailure("too_large", `the response has more than ${MAX_HEADERS} headers`);
  if (status === 101)
    return malformed("the server switched to another protocol without being asked");
  // The parser accepts any three digits.
  return status < 200 ? malformed(`the response has the status ${status}`) : undefined;
}

function bodyFault(size: number, codings: readonly string[]): CallFailure | undefined {
  if (size > MAX_BODY_BYTES)
    return new CallFailure("too_large", `the body is larger than ${MAX_BODY_BYTES} bytes`);
  return codings.length > MAX_CODINGS
    ? malformed(`the body is encoded more than ${MAX_CODINGS} times`)
    : undefined;
}

const NOTHING = Buffer.alloc(0);

/** Keeps a body's decoded bytes, in order, up to the size that is stored. */
function createKeptBody() {
  // Holds copies: a one-byte chunk would keep alive the whole buffer it was read into.
  let kept = NOTHING;
  let size = 0;
  return {
    add(chunk: Buffer): void {
      const at = size;
      size += chunk.length;
      if (size > MAX_CONTENT_BYTES) kept = NOTHING;
      else {
        if (size > kept.length) kept = grown(kept, size);
        chunk.copy(kept, at);
      }
    },
    /** Call it once, when all bytes are there. */
    content(contentType: string | null): Content {
      const bare: Content = {
        content_type: contentType,
        encoding: null,
        size,
        content: null,
        reason: null,
      };
      if (size > MAX_CONTENT_BYTES) return withoutText(bare, "too_large");
      const text = textOf(kept.subarray(0, size), contentType ?? "");
      return text ? { ...bare, ...text } : withoutText(bare, "binary");
    },
  };
}

function grown(bytes: Buffer, size: number): Buffer<ArrayBuffer> {
  const larger = Buffer.allocUnsafe(Math.max(2 * bytes.length, size));
  bytes.copy(larger);
  return larger;
}

/** Returns undefined unless it is text in the encoding that the server names, by default UTF-8. */
function textOf(
  bytes: Buffer,
  contentType: string,
): Pick<Content, "encoding" | "content"> | undefined {
  const [, label = "utf-8"] = /;\s*charset\s*=\s*"?([^",;\s]+)/i.exec(contentType) ?? [];
  try {
    const decoder = new TextDecoder(label, { fatal: true });
    const content = decoder.decode(bytes);
    return CONTROL.test(content) ? undefined : { encoding: decoder.encoding, content };
  } catch {
    return undefined;
  }
}

// ASCII control characters other than tabs, line breaks and form feeds: text has none.
const CONTROL = /[^\P{Cc}\t\n\f\r\u{80}-\u{9f}]/u;
