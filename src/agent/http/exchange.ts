// Exchanges one request and its response over an open connection, with its own undici client. The
// request is sent once: if the connection closes, it has failed and is never repeated.
import type { Socket } from "node:net";
import { Client } from "undici";
import type { Dispatcher } from "undici";
import { limitReading } from "../../net/limit-reading.ts";
import { watchStart } from "../../net/response-start.ts";
import type { Deadline } from "../../runtime/deadline.ts";
import { CallFailure, exchangeFailure } from "./failure.ts";
import type { HttpRequest } from "./http-request.ts";
import { createResponseReceiver, MAX_RESPONSE_BYTES } from "./response.ts";
import { beginWait, endTrace } from "./trace.ts";
import type { Trace } from "./trace.ts";

const MAX_HEADER_BYTES = 64 * 1024;

/**
 * The system receives at least this much before the agent reads, so the agent cannot hold up a
 * response of this size (RFC 9293 section 3.8.6; Linux opens with a window of 64,240 bytes).
 */
const WINDOW_BYTES = 48 * 1024;

/**
 * Resolves when the whole body has arrived and is decoded; rejects with a `CallFailure`. The caller
 * destroys the socket.
 */
export function exchange(socket: Socket, trace: Trace, deadline: Deadline): Promise<void> {
  const timer = createPhaseTimer(trace);
  return new Promise((resolve, reject) => {
    let failed = false;
    const settle = (failure?: CallFailure): void => {
      deadline.watch(undefined);
      if (!failure) return resolve();
      failed = true;
      response.free();
      reject(failure);
      socket.destroy();
    };
    const response = createResponseReceiver(trace, settle);
    const expire = (): void => settle(response.isPaused() ? undecoded() : overdue(trace));
    if (deadline.isOver()) return expire();
    deadline.watch(expire);
    const complete = (): void => {
      // After a reset, undici treats a body without a length as complete.
      if (failed) return;
      deadline.watch(undefined); // the target met it, however long decoding takes
      timer.complete(socket.bytesRead);
      socket.destroy(); // undici would destroy it with an error, which costs a stack trace
      response.end();
    };
    const fail = (cause: unknown): void => {
      // Anything after a complete response is not part of it.
      if (trace.phases.download !== null) return;
      // undici misreads a length with a space after it.
      if (response.isWhole()) return complete();
      settle(exchangeFailure(cause, trace.response !== null));
    };
    socket.once("error", fail);
    withoutStackTraces(socket);
    limitReading(socket, MAX_RESPONSE_BYTES, () => settle(tooLarge()));
    watchStart(socket, {
      onFirstByte: timer.firstByte,
      onExcess: (what) => settle(new CallFailure("too_large", what)),
    });
    trace.requestSize = trace.request.body?.length ?? 0;
    clientOver(socket, trace.request.url).dispatch(dispatchOptions(trace.request), {
      onRequestStart: () => undefined,
      onRequestSent: () => onceWritten(socket, timer.uploaded),
      onResponseStart: response.onResponseStart,
      onResponseData: response.onResponseData,
      onResponseEnd: complete,
      onResponseError: (_, cause) => fail(cause),
    });
  });
}

/** Times the phases of an exchange that begins now. */
function createPhaseTimer(trace: Trace) {
  const { clock, phases } = trace;
  const began = clock.monotonic();
  let [uploadedAt, firstByteAt] = [began, began];
  let endWait: (() => void) | undefined;
  const endUpload = (): void => {
    uploadedAt = clock.monotonic();
    phases.upload = uploadedAt - began;
  };
  return {
    uploaded: (): void => {
      if (phases.upload !== null) return;
      endUpload();
      endWait = beginWait(trace);
    },
    firstByte: (): void => {
      if (phases.processing !== null) return;
      // A server that answers before it has the whole request may wait for the rest.
      if (phases.upload === null) endUpload();
      firstByteAt = clock.monotonic();
      phases.processing = firstByteAt - uploadedAt;
      endWait?.();
    },
    complete(bytes: number): void {
      endTrace(trace);
      if (bytes <= WINDOW_BYTES) endWait?.();
      phases.download = trace.ended - firstByteAt;
    },
  };
}

function clientOver(socket: Socket, url: URL): Client {
  let free = true;
  return new Client(url.origin, {
    // Deferred: undici ignores a connection passed during this call.
    connect: (_, callback) =>
      queueMicrotask(() => {
        if (!free) return callback(new Error("the connection is used up"), null);
        free = false;
        callback(null, socket);
      }),
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    // The call has its own deadline.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

/** undici writes `host` first, `connection: close` for `reset`, and the length of the body last. */
const dispatchOptions = ({
  method,
  url,
  headers,
  body,
}: HttpRequest): Dispatcher.DispatchOptions => ({
  method,
  path: `${url.pathname}${url.search}`,
  headers: headers.flatMap(({ key, value }) => [key, value]),
  body,
  reset: true,
});

/**
 * undici reports a request as sent while the socket may still buffer it; an empty write's callback
 * comes after everything written before.
 */
function onceWritten(socket: Socket, onWritten: () => void): void {
  if (socket.writableLength === 0) onWritten();
  else
    socket.write("", (cause) => {
      if (!cause) onWritten();
    });
}

/**
 * undici creates two unused errors per exchange; their stack traces would cost a tenth of a call.
 */
function withoutStackTraces(socket: Socket): void {
  const emit = socket.emit.bind(socket);
  socket.emit = (...event: [string | symbol, ...unknown[]]): boolean => {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    try {
      return emit(...event);
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
  };
}

function overdue({ phases }: Trace): CallFailure {
  if (phases.upload === null) return new CallFailure("timeout", "the request was not sent in time");
  const text =
    phases.processing === null
      ? "no response arrived in time"
      : "the response did not complete in time";
  return new CallFailure("timeout", text);
}

// More of the response may have arrived than the agent has read.
const undecoded = (): CallFailure =>
  new CallFailure("agent_error", "at the deadline, the agent was still decoding the response");

const tooLarge = (): CallFailure =>
  new CallFailure(
    "too_large",
    `the response is larger than ${MAX_RESPONSE_BYTES} bytes, including headers and framing`,
  );
