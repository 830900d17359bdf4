// Guards each use of SQLite: measures it, and turns its errors into ours.
import { unavailable } from "../../model/errors.ts";
import { systemClock } from "../../runtime/clock.ts";
import type { DatabaseMetrics } from "../metrics.ts";

// SQLITE_BUSY, SQLITE_LOCKED, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN
const UNAVAILABLE_CODES = new Set([5, 6, 10, 13, 14]);

export type Guard = <T>(work: () => T) => T;

/** A statement takes microseconds: timing each one would be noticeable. */
const MEASURED_ONE_IN = 16;

export function guardOf(metrics: DatabaseMetrics | undefined): Guard {
  let uses = 0;
  return (work) => {
    const began =
      metrics && (uses += 1) % MEASURED_ONE_IN === 0 ? systemClock.monotonic() : undefined;
    try {
      const answer = work();
      metrics?.succeeded(began === undefined ? undefined : systemClock.monotonic() - began);
      return answer;
    } catch (cause) {
      const error = toUnavailable(cause);
      metrics?.failed(error);
      throw error;
    }
  };
}

function toUnavailable(cause: unknown): unknown {
  const code = resultCodeOf(cause);
  if (code === undefined || !UNAVAILABLE_CODES.has(code)) return cause;
  return unavailable(`database unavailable: ${(cause as Error).message}`, {
    part: "the database",
    cause,
  });
}

/** The primary result code, without the extension in the higher bits. */
export const resultCodeOf = (cause: unknown): number | undefined =>
  cause instanceof Error && "errcode" in cause ? Number(cause.errcode) & 0xff : undefined;
