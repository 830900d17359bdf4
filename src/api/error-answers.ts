// Sends error answers: for handlers, for unknown paths and methods, and for invalid HTTP.
import { STATUS_CODES } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { notFound } from "../model/errors.ts";
import { show } from "../model/validate.ts";
import type { Logger } from "../runtime/logger.ts";
import { closeIfUnread } from "../runtime/unread-body.ts";
import { routesOf } from "./endpoint.ts";
import type { Endpoint } from "./endpoint.ts";
import { OPEN_PATHS } from "./entry-points.ts";
import { HttpError, toErrorAnswer } from "./http/errors.ts";
import { MAX_BODY_BYTES } from "./http/json-body.ts";
import { API_PREFIX } from "./serve-endpoint.ts";

/** Sent with every answer unless it sets others: no cache may keep an answer that needed a key. */
export const SAFE_HEADERS = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
} as const;

/** Sends the error to the caller; logs it if the fault is ours. */
export function answerError(
  log: Logger,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { status, headers, body } = toErrorAnswer(reworded(error));
  const { id: request_id, method, routeOptions } = request;
  const line = { err: error, request_id, method, route: routeOptions.url, status };
  if (status === 500) log.error(line, "request failed");
  else if (status > 500) log.warn(line, "request could not be served");
  void reply.code(status).headers(headers).send(body);
}

/** Returns the error for a request without a route: 405 if the path is known, otherwise 404. */
export function withoutRoute(
  endpoints: readonly Endpoint[],
  { url, method }: FastifyRequest,
): Error {
  const steps = stepsOf(url.split("?", 1)[0] ?? "");
  const routes = [
    ...endpoints.flatMap(routesOf).map((one) => ({ ...one, path: `${API_PREFIX}${one.path}` })),
    ...OPEN_PATHS.map((path) => ({ method: "GET", path })),
  ];
  const methods = routes.flatMap((one) => (covers(stepsOf(one.path), steps) ? one.method : []));
  if (methods.length === 0) return notFound("Path");
  const allow = [
    ...new Set(methods.flatMap((one) => (one === "GET" ? ["GET", "HEAD"] : one))),
  ].join(", ");
  return new HttpError(405, `Method ${method} is not allowed here; allowed: ${allow}`, { allow });
}

const stepsOf = (path: string): string[] => path.replace(/\/$/, "").split("/");

const covers = (pattern: readonly string[], steps: readonly string[]): boolean =>
  pattern.length === steps.length &&
  pattern.every((step, n) => step.startsWith(":") || step === steps[n]);

/** Rewords errors of the HTTP server whose messages would not help a caller. */
function reworded(error: unknown): unknown {
  const { code } = error as { readonly code?: unknown };
  switch (code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return new HttpError(413, `The body is larger than ${MAX_BODY_BYTES} bytes (1 MiB)`);
    case "FST_ERR_BAD_URL":
      return new HttpError(400, "The percent-encoding of the path is not valid");
    case "FST_ERR_MAX_PARAM_LENGTH":
      return notFound("Path");
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return new HttpError(415, "The Content-Type is not supported; send application/json");
    default:
      return error;
  }
}

const CLIENT_ERRORS: Readonly<Record<string, readonly [number, string]>> = {
  HPE_HEADER_OVERFLOW: [431, "The headers are too large"],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "The request took too long to arrive"],
};

/** Answers a request with an `Expect` other than `100-continue`, which reaches no route. */
export async function answerExpectation(
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  await closeIfUnread(request, response);
  response.writeHead(417, { ...SAFE_HEADERS, "content-type": "application/json; charset=utf-8" });
  const error_msg = `Expect ${show(request.headers.expect)} is not supported; send 100-continue`;
  response.end(JSON.stringify({ error_msg, error: 417 }));
}

/** Answers a request that could not be parsed, directly on its socket. */
export function answerClientError(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, error_msg] = CLIENT_ERRORS[error.code ?? ""] ?? [
    400,
    "The request is not valid HTTP",
  ];
  const body = JSON.stringify({ error_msg, error: status });
  const headers = Object.entries({
    ...SAFE_HEADERS,
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    connection: "close",
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${headers.join("")}\r\n${body}`);
  socket.destroySoon();
}
