// Who is asking: the key in a request, the caller behind it, and whether its level suffices.
import type { IncomingHttpHeaders } from "node:http";
import { AppError, TooManyError } from "../model/errors.ts";
import { hasLevel } from "../model/access.ts";
import type { AccessLevel, Principal } from "../model/access.ts";
import { hashApiKey, isApiKey } from "../runtime/api-key.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Store } from "../store/store.ts";

export interface Credentialed {
  readonly headers: IncomingHttpHeaders;
  readonly query: unknown;
  /** Client address. */
  readonly ip: string;
}

/**
 * Rejects with `unauthenticated` without an active key, `forbidden` for a key below `level`, and
 * `too_many` after a flood of requests with one key, or with wrong keys from one address. A valid
 * key works throughout: nobody can lock out the others behind an address.
 */
export type Authenticate = (request: Credentialed, level: AccessLevel) => Promise<Principal>;

const MINUTE_MS = 60_000;
const WRONG_KEYS_PER_MINUTE = 600;
/** An attacker with many addresses must not fill the database either. */
const AUDITED_ADDRESSES_PER_MINUTE = 20;

export function createAuthenticate({
  store,
  clock,
  tokenInQuery,
  requestsPerMinute,
}: {
  readonly store: Store;
  readonly clock: Clock;
  readonly tokenInQuery: boolean;
  /** Of one key. */
  readonly requestsPerMinute: number;
}): Authenticate {
  const countWrongKey = perMinute(clock);
  const countRequest = perMinute(clock);
  const recordFailure = createFailureRecord(store, clock);
  return async ({ headers, query, ip }, level) => {
    const given =
      keyOf(headers) ?? (tokenInQuery ? (query as Record<string, unknown>)["_token"] : undefined);
    if (given === undefined) throw unauthenticated();
    const principal =
      typeof given === "string" && isApiKey(given)
        ? await store.apiKeys.findByHash(hashApiKey(given))
        : undefined;
    if (principal) {
      const { count, secondsLeft } = countRequest(principal.key_id);
      if (count <= requestsPerMinute) return withLevel(principal, level);
      throw new TooManyError(
        `Too many requests with this API key: at most ${requestsPerMinute} a minute (SONDE_MAX_REQUESTS_PER_MINUTE)`,
        secondsLeft,
      );
    }
    const { count, secondsLeft } = countWrongKey(ip);
    if (count === 1) await recordFailure(ip);
    if (count <= WRONG_KEYS_PER_MINUTE) throw unauthenticated();
    throw new TooManyError("Too many requests with a wrong API key", secondsLeft);
  };
}

/**
 * Records failed sign-ins in the audit trail, never the key: the first of each minute from an
 * address. Beyond the limit of addresses, one more entry without an address stands for the rest.
 */
function createFailureRecord(store: Store, clock: Clock): (ip: string) => Promise<void> {
  const countEntry = perMinute(clock);
  return async (ip) => {
    const { count } = countEntry("");
    if (count > AUDITED_ADDRESSES_PER_MINUTE + 1) return;
    await store.audit.record({
      time: await store.now(),
      actor: "unknown key",
      owner: null,
      org: null,
      address: count > AUDITED_ADDRESSES_PER_MINUTE ? null : ip,
      action: "reject",
      kind: "sign_in",
      object_id: "",
      fields: [],
    });
  };
}

const unauthenticated = (): AppError => new AppError("unauthenticated", "Unauthorized");

function keyOf(headers: IncomingHttpHeaders): unknown {
  const bearer = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1];
  return bearer ?? headers["x-api-key"];
}

function withLevel(principal: Principal, needed: AccessLevel): Principal {
  if (hasLevel(principal, needed)) return principal;
  throw new AppError(
    "forbidden",
    `This needs a key of access level ${needed}; yours is ${principal.access_level}`,
  );
}

/** Counts by name, from 0 each minute; `secondsLeft`: of this one. */
function perMinute(clock: Clock) {
  const counts = new Map<string, number>();
  let began = clock.monotonic();
  return (name: string): { readonly count: number; readonly secondsLeft: number } => {
    const now = clock.monotonic();
    if (now - began >= MINUTE_MS) {
      counts.clear();
      began = now;
    }
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return { count, secondsLeft: Math.ceil((began + MINUTE_MS - now) / 1000) };
  };
}
