// The errors that callers of Sonde may see. What a target did is data (result.ts), never an error.

export type ErrorCode =
  | "invalid"
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  | "precondition_failed"
  | "too_many"
  | "unreadable";

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

export const notFound = (what: string): AppError => new AppError("not_found", `${what} not found`);

/**
 * Secrets that were changed in the database, or that no key at hand opens. What is stored stays as
 * it is.
 */
export const unreadable = (what: string, options?: ErrorOptions): AppError =>
  new AppError(
    "unreadable",
    `the secrets of ${what} cannot be decrypted, so it is not changed: it can be deleted, or read again with the master key that it was stored with`,
    options,
  );

export interface UnavailableOptions extends ErrorOptions {
  /** As callers are told of it. */
  readonly part?: "the database" | "the bus";
}

/**
 * A server that Sonde depends on cannot be reached just now, or cannot do its work; the same
 * request may succeed later. Its message is for an operator, may name addresses, and is not shown
 * to callers.
 */
export class UnavailableError extends Error {
  readonly code = "unavailable";
  readonly part: string;

  constructor(message: string, options: UnavailableOptions = {}) {
    super(message, options);
    this.name = "UnavailableError";
    this.part = options.part ?? "a part of the service";
  }
}

export const unavailable = (message: string, options?: UnavailableOptions): UnavailableError =>
  new UnavailableError(message, options);

export const isUnavailable = (err: unknown): boolean => err instanceof UnavailableError;
