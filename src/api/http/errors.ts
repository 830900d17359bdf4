// Turns anything thrown into an error answer.
import { AppError, TooManyError, UnavailableError } from "../../model/errors.ts";
import type { ErrorCode } from "../../model/errors.ts";

export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly error_msg: string; readonly error: number };
}

const STATUS: Record<ErrorCode, number> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  precondition_failed: 412,
  too_many: 429,
  unreadable: 500,
};

const RETRY_AFTER_SECONDS = 5;

const HEADERS: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { "www-authenticate": "Bearer" },
  503: { "retry-after": String(RETRY_AFTER_SECONDS) },
};

/** An error of the HTTP request itself. */
export class HttpError extends Error {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(statusCode: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = "HttpError";
    this.statusCode = statusCode;
    this.headers = headers;
  }
}

export function toErrorAnswer(error: unknown): ErrorAnswer {
  if (error instanceof UnavailableError)
    return answer(503, `${error.part} is unavailable; try again in ${RETRY_AFTER_SECONDS} s`);
  if (error instanceof TooManyError)
    return answer(429, error.message, { "retry-after": String(error.retryAfterSeconds) });
  if (error instanceof AppError) return answer(STATUS[error.code], error.message);
  if (error instanceof HttpError) return answer(error.statusCode, error.message, error.headers);
  const status = statusOf(error);
  return status >= 400 && status < 500
    ? answer(status, (error as Error).message)
    : answer(500, "Internal error");
}

const answer = (
  status: number,
  error_msg: string,
  headers: Readonly<Record<string, string>> = {},
): ErrorAnswer => ({
  status,
  headers: { ...HEADERS[status], ...headers },
  body: { error_msg, error: status },
});

/** Fastify's errors carry their status; any other error is a fault of ours. */
function statusOf(error: unknown): number {
  const { statusCode } = error as { readonly statusCode?: unknown };
  return error instanceof Error && typeof statusCode === "number" ? statusCode : 500;
}
