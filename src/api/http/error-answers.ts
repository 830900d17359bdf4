// Sends error answers: of handlers, of unknown paths and methods, and of what is not even HTTP.
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { notFound } from "../../model/errors.ts";
import type { Logger } from "../../runtime/logger.ts";
import { MAX_BODY_BYTES } from "./content-types.ts";
import type { Endpoint } from "./endpoint.ts";
import { HttpError, toAnswer } from "./errors.ts";
import { API_PREFIX } from "./serve-endpoint.ts";

export interface ErrorAnswers {
  readonly onError: (error: unknown, request: FastifyRequest, reply: FastifyReply) => void;
  /** For a request that no route takes: 405 where the path is known, otherwise 404. */
  readonly unknown: (request: FastifyRequest) => Error;
}

export function answerErrors(log: Logger, endpoints: readonly Endpoint[]): ErrorAnswers {
  const served = [...endpoints, OPENAPI];
  const paths = served.flatMap(({ path, aliases = [], methods }) =>
    [path, ...aliases].map((one) => ({
      pattern: stepsOf(`${API_PREFIX}${one}`),
      methods,
    })),
  );
  return {
    onError(error, request, reply) {
      const { status, headers, body } = toAnswer(inOurWords(error));
      if (status >= 500) {
        const { method, routeOptions } = request;
        const line = { err: error, method, route: routeOptions.url, status };
        if (status === 500) log.error(line, "request failed");
        else log.warn(line, "request could not be served");
      }
      void reply.code(status).headers(headers).send(body);
    },
    unknown({ url, method }) {
      const steps = stepsOf(url.split("?", 1)[0] ?? "");
      const allowed = paths
        .filter(({ pattern }) => covers(pattern, steps))
        .flatMap(({ methods }) => methods);
      if (allowed.length === 0) return notFound("Path");
      const allow = [
        ...new Set(allowed.flatMap((one) => (one === "GET" ? ["GET", "HEAD"] : one))),
      ].join(", ");
      return new HttpError(405, `Method ${method} is not allowed here; allowed: ${allow}`, {
        allow,
      });
    },
  };
}

const OPENAPI: Pick<Endpoint, "path" | "aliases" | "methods"> = {
  path: "/openapi.json",
  methods: ["GET"],
};

const stepsOf = (path: string): string[] => path.replace(/\/$/, "").split("/");

const covers = (pattern: readonly string[], steps: readonly string[]) =>
  pattern.length === steps.length &&
  pattern.every((step, n) => step.startsWith(":") || step === steps[n]);

/** Errors of the HTTP server whose own words would not help a caller. */
function inOurWords(error: unknown): unknown {
  const { code } = error as { readonly code?: unknown };
  switch (code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return new HttpError(413, `The body is larger than ${MAX_BODY_BYTES} bytes (1 MiB)`);
    case "FST_ERR_BAD_URL":
      return new HttpError(400, "The path is not validly percent-encoded");
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

/** The request could not be read, so its answer is written to the socket itself. */
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
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
