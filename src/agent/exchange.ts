// One request and its response over an open connection.
// Node's own HTTP parser in its strict mode: it takes interim responses (RFC 9110 section 15.2), and sends once only.
import { request as sendRequest } from "node:http";
import type { ClientRequest, IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../runtime/clock.ts";
import type { HttpRequest } from "./build-request.ts";
import { CallFailure, exchangeFailure } from "./failure.ts";
import { MAX_HEADERS, receiveBody, receiveHead } from "./receive.ts";
import { createExchangeWatch } from "./trace.ts";
import type { ExchangeWatch, Trace } from "./trace.ts";

const MAX_HEADER_BYTES = 64 * 1024;
const MAX_INTERIM_RESPONSES = 20;

/** Resolves when the last byte of the body came; rejects with a `CallFailure`. The caller destroys the socket. */
export function exchange(
  socket: Socket,
  trace: Trace,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const watch = createExchangeWatch(trace, clock);
  return new Promise((resolve, reject) => {
    let response: IncomingMessage | undefined;
    let free = (): void => undefined;
    const settle = (failure?: CallFailure): void => {
      signal.removeEventListener("abort", expire);
      free();
      if (failure) reject(failure);
      else resolve();
    };
    const expire = (): void => settle(overdue(trace));
    if (signal.aborted) return expire();
    signal.addEventListener("abort", expire, { once: true });
    const fail = (cause: unknown): void => {
      // What comes after a complete response is no part of it.
      if (response?.complete) return;
      settle(exchangeFailure(cause, response !== undefined));
    };

    const sent = send(socket, trace.request);
    trace.requestSize = trace.request.body?.length ?? 0;
    watchSending(sent, socket, watch);
    refuseOddities(sent, settle);
    sent.on("error", fail);
    sent.once("response", (incoming) => {
      response = incoming;
      incoming.on("error", fail);
      const fault = receiveHead(incoming, trace);
      if (fault) return settle(fault);
      free = receiveBody(incoming, trace, {
        onEnd: () => watch.complete(),
        onDone: settle,
        onFailure: settle,
      });
    });
  });
}

function send(socket: Socket, request: HttpRequest): ClientRequest {
  const { method, url, headers, body } = request;
  const sent = sendRequest({
    createConnection: () => socket,
    method,
    path: `${url.pathname}${url.search}`,
    headers: [
      ...headers.flatMap(({ key, value }) => [key, value]),
      ...framing(method, body),
    ],
    setDefaultHeaders: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    insecureHTTPParser: false,
  });
  sent.maxHeadersCount = MAX_HEADERS + 1;
  sent.end(body ?? undefined);
  return sent;
}

const BODILESS = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "DELETE"]);

/** RFC 9110 section 8.6: no length where neither a body is sent nor the method leads one to expect it. */
function framing(method: string, body: Buffer | null): string[] {
  const length =
    body === null && BODILESS.has(method)
      ? []
      : ["Content-Length", String(body?.length ?? 0)];
  return [...length, "Connection", "close"];
}

function watchSending(
  sent: ClientRequest,
  socket: Socket,
  watch: ExchangeWatch,
): void {
  sent.once("finish", () => watch.uploaded());
  sent.once("socket", () => socket.once("data", () => watch.firstByte()));
}

function refuseOddities(
  sent: ClientRequest,
  fail: (failure: CallFailure) => void,
): void {
  let interim = 0;
  sent.on("information", () => {
    interim += 1;
    if (interim > MAX_INTERIM_RESPONSES)
      fail(
        new CallFailure("malformed_response", "interim responses without end"),
      );
  });
  sent.once("upgrade", () =>
    fail(
      new CallFailure(
        "malformed_response",
        "the server switched to another protocol without being asked",
      ),
    ),
  );
}

const overdue = ({ phases }: Trace): CallFailure =>
  new CallFailure(
    "timeout",
    phases.processing === null
      ? "no response came in time"
      : "the response was not complete in time",
  );
