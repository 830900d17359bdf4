// Errors that callers of Sonde see. A target's behaviour is data (result.ts), never an error.

export type ErrorCode =
  | "invalid"
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  | "precondition_failed"
  | "too_many"
  | "unreadable";

/** `message` names the given and the allowed value, and is safe to show to the caller. */
export class AppError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "AppError";
    this.code = code;
  }
}

/** The caller exceeds a limit on concurrent or frequent requests. */
export class TooManyError extends AppError {
  readonly retryAfterSeconds: number;

  constructor(message: string, retryAfterSeconds: number) {
    super("too_many", message);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export const invalid = (message: string, options?: ErrorOptions): AppError =>
  new AppError("invalid", message, options);

export const notFound = (what: string): AppError => new AppError("not_found", `${what} not found`);

/** For secrets that were changed in the database, or that no available key opens. */
export const unreadable = (what: string, options?: ErrorOptions): AppError =>
  new AppError(
    "unreadable",
    `the secrets of ${what} cannot be decrypted, so it was not changed; delete it, or start Sonde with the master key that encrypted it`,
    options,
  );

export interface UnavailableOptions extends ErrorOptions {
  /** Named in the error answer. */
  readonly part?: "the database" | "the bus";
  /** The part works, but has no room for more. */
  readonly full?: boolean;
}

/**
 * The database or the bus is unreachable or not working; the same request may succeed later. The
 * message is for operators: it may contain addresses, and callers do not see it.
 */
export class UnavailableError extends Error {
  readonly code = "unavailable";
  readonly part: string;
  readonly full: boolean;

  constructor(message: string, options: UnavailableOptions = {}) {
    super(message, options);
    this.name = "UnavailableError";
    this.part = options.part ?? "a part of the service";
    this.full = options.full ?? false;
  }
}

export const unavailable = (message: string, options?: UnavailableOptions): UnavailableError =>
  new UnavailableError(message, options);

export const isUnavailable = (err: unknown): err is UnavailableError =>
  err instanceof UnavailableError;

/** Whether the part works, but has no room for more. */
export const isFull = (err: unknown): boolean => isUnavailable(err) && err.full;
