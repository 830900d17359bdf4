// Logs messages that this process cannot open or decode, and tracks whether its key is wrong.
import type { Clock } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/logger.ts";

export interface RefusalsOptions {
  readonly clock: Clock;
  readonly log: Logger;
}

const LOG_EVERY_MS = 60_000;
/**
 * The sender chooses the location's name: beyond this many names a minute, the rest share one log
 * line.
 */
const MAX_LOCATIONS = 1000;

/** Logs at most one line a minute for each location. */
export function createRefusalLog({ clock, log }: RefusalsOptions) {
  const loggedAt = new Map<string, number>();
  return (locationId: string, fields: object, text: string): void => {
    const now = clock.monotonic();
    for (const [id, at] of loggedAt) if (now - at >= LOG_EVERY_MS) loggedAt.delete(id);
    const id = loggedAt.size < MAX_LOCATIONS ? locationId : "";
    if (loggedAt.has(id)) return;
    loggedAt.set(id, now);
    log.warn({ location_id: locationId, ...fields }, text);
  };
}

/** Three heartbeats. */
const PROVEN_MS = 30_000;

export type KeyCheck = ReturnType<typeof createKeyCheck>;

/**
 * Tracks whether a process that serves a location has the right key: a key that opens none of the
 * messages is wrong; one that opened a message lately is right, whatever else arrives.
 */
export function createKeyCheck({ clock }: Pick<RefusalsOptions, "clock">) {
  let openedAt = -Infinity;
  let fault: string | undefined;
  const isProven = (): boolean => clock.monotonic() - openedAt <= PROVEN_MS;
  return {
    opened(): void {
      openedAt = clock.monotonic();
      fault = undefined;
    },
    refused(reason: string): void {
      if (!isProven()) fault = reason;
    },
    fault: (): string | undefined => fault,
  };
}
