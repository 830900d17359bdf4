// The errors that callers of Sonde may see. What a target did is data (result.ts), never an error.

export type ErrorCode =
  | "invalid"
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  | "precondition_failed"
  | "too_many"
  | "unavailable";

/** `message` says what was given and what is allowed, and is safe to show to the caller. */
export class AppError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "AppError";
    this.code = code;
  }
}

export const invalid = (message: string, options?: ErrorOptions): AppError =>
  new AppError("invalid", message, options);

export const notFound = (what: string): AppError =>
  new AppError("not_found", `${what} not found`);

/** A server that Sonde depends on (database, bus) cannot be reached just now; the same request may succeed later. */
export const unavailable = (
  message: string,
  options?: ErrorOptions,
): AppError => new AppError("unavailable", message, options);

export const isUnavailable = (err: unknown): boolean =>
  err instanceof AppError && err.code === "unavailable";
