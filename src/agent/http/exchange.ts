// One request and its response over an open connection, by an undici client that lives for this
// exchange alone. It sends once: a request whose connection closes has failed, and is never sent
// again.
import type { Socket } from "node:net";
import { Client } from "undici";
import type { Dispatcher } from "undici";
import type { Clock } from "../../runtime/clock.ts";
import type { HttpRequest } from "./http-request.ts";
import { CallFailure, exchangeFailure } from "./failure.ts";
import { createReceiver } from "./receive.ts";
import type { Receiver } from "./receive.ts";
import { watchStart } from "./response-start.ts";
import { createExchangeWatch } from "./trace.ts";
import type { ExchangeWatch, Trace } from "./trace.ts";

const MAX_HEADER_BYTES = 64 * 1024;

/**
 * Resolves when the whole body came and was decoded; rejects with a `CallFailure`. The caller
 * destroys the socket.
 */
export function exchange(
  socket: Socket,
  trace: Trace,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const watch = createExchangeWatch(trace, clock);
  return new Promise((resolve, reject) => {
    const settle = (failure?: CallFailure): void => {
      signal.removeEventListener("abort", expire);
      receiver.free();
      if (!failure) return resolve();
      reject(failure);
      socket.destroy();
    };
    const receiver = createReceiver(trace, {
      onEnd() {
        watch.complete();
        socket.destroy(); // undici would do so with an error, which costs a stack trace
      },
      onDone: settle,
      onFailure: settle,
    });
    const expire = (): void => settle(overdue(trace));
    if (signal.aborted) return expire();
    signal.addEventListener("abort", expire, { once: true });
    const fail = (cause: unknown): void => {
      // What comes after a complete response is no part of it.
      if (trace.phases.download !== null) return;
      settle(exchangeFailure(cause, trace.response !== null));
    };
    // undici takes a body without a length for complete when the connection is reset.
    socket.once("error", fail);
    watchStart(socket, {
      onFirstByte: () => watch.firstByte(),
      onFailure: settle,
    });
    trace.requestSize = trace.request.body?.length ?? 0;
    clientOver(socket, trace.request.url).dispatch(
      dispatchOptions(trace.request),
      handlerOf({ socket, watch, receiver, fail }),
    );
  });
}

function clientOver(socket: Socket, url: URL): Client {
  let free = true;
  return new Client(url.origin, {
    // Later than this call, during which undici takes no notice of a connection.
    connect: (_, callback) =>
      queueMicrotask(() => {
        if (!free) return callback(new Error("the connection is used up"), null);
        free = false;
        callback(null, socket);
      }),
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    // The call has a deadline of its own.
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

interface Exchanging {
  readonly socket: Socket;
  readonly watch: ExchangeWatch;
  readonly receiver: Receiver;
  readonly fail: (cause: unknown) => void;
}

const handlerOf = ({ socket, watch, receiver, fail }: Exchanging): Dispatcher.DispatchHandler => ({
  onRequestStart: () => undefined,
  onRequestSent: () => onceWritten(socket, () => watch.uploaded()),
  onResponseStart: (controller, status, _, statusText) =>
    receiver.head(controller, status, statusText ?? ""),
  onResponseData: (controller, chunk) => receiver.data(controller, chunk),
  onResponseEnd: () => receiver.end(),
  onResponseError: (_, cause) => fail(cause),
});

/**
 * What undici calls sent may wait in the socket's buffer yet; an empty write is called back after
 * what is before it.
 */
function onceWritten(socket: Socket, onWritten: () => void): void {
  if (socket.writableLength === 0) onWritten();
  else
    socket.write("", (cause) => {
      if (!cause) onWritten();
    });
}

const overdue = ({ phases }: Trace): CallFailure =>
  new CallFailure(
    "timeout",
    phases.processing === null
      ? "no response came in time"
      : "the response was not complete in time",
  );
