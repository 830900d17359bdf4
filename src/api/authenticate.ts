// Who is asking: finds the key in a request, and whom it acts as.
import type { IncomingHttpHeaders } from "node:http";
import { AppError } from "../model/errors.ts";
import type { Principal } from "../model/access.ts";
import { hashApiKey, isApiKey } from "../runtime/api-key.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Store } from "../store/store.ts";

export interface Credentialed {
  readonly headers: IncomingHttpHeaders;
  readonly query: Readonly<Record<string, unknown>>;
  /** The address it comes from. */
  readonly ip: string;
}

/**
 * Rejects with `unauthenticated`, or `too_many` after a flood of wrong keys from one address. A key
 * that is right works all the while: nobody can lock out those who share an address.
 */
export type Authenticate = (request: Credentialed) => Promise<Principal>;

const WRONG_KEYS_PER_MINUTE = 600;

export function createAuthenticate({
  store,
  clock,
  tokenInQuery,
}: {
  readonly store: Store;
  readonly clock: Clock;
  readonly tokenInQuery: boolean;
}): Authenticate {
  const wrongKeys = createMinuteCounter(clock);
  return async ({ headers, query, ip }) => {
    const given = keyOf(headers) ?? (tokenInQuery ? query["_token"] : undefined);
    if (given === undefined) throw unauthenticated();
    const key =
      typeof given === "string" && isApiKey(given)
        ? await store.apiKeys.findByHash(hashApiKey(given))
        : undefined;
    if (key) return key;
    if (wrongKeys.count(ip) <= WRONG_KEYS_PER_MINUTE) throw unauthenticated();
    throw new AppError("too_many", "Too many requests with a wrong API key");
  };
}

const unauthenticated = (): AppError => new AppError("unauthenticated", "Unauthorized");

function keyOf(headers: IncomingHttpHeaders): unknown {
  const bearer = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1];
  return bearer ?? headers["x-api-key"];
}

/** Counts by name, from one anew each minute. */
function createMinuteCounter(clock: Clock): {
  readonly count: (name: string) => number;
} {
  const counts = new Map<string, number>();
  let began = clock.monotonic();
  return {
    count(name) {
      if (clock.monotonic() - began >= 60_000) {
        counts.clear();
        began = clock.monotonic();
      }
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      return count;
    },
  };
}
