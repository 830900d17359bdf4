// Authenticates requests: finds the key, identifies the caller behind it, and checks its level.
import type { FastifyRequest } from "fastify";
import { AppError, TooManyError } from "../model/errors.ts";
import { hasLevel } from "../model/access.ts";
import type { AccessLevel, Principal } from "../model/access.ts";
import { MINUTE_MS } from "../model/slots.ts";
import { hashApiKey, isApiKey } from "../runtime/api-key.ts";
import type { Clock } from "../runtime/clock.ts";
import type { ApiKey } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import type { Endpoint } from "./endpoint.ts";
import { createCounts } from "./counts.ts";
import { clientAddress } from "./http/proxies.ts";
import { assertSameOrigin, isUse, sessionSecretOf } from "./http/session-cookie.ts";
import { isSignInCode, keyOfSession, spendSignInCode } from "./sessions.ts";

/** The caller of a request. */
export interface Authenticated {
  readonly principal: Principal;
  /** The session's secret, if its cookie replaced a key. */
  readonly session: string | undefined;
}

export type Authenticate = ReturnType<typeof createAuthenticate>;

type Requirements = Pick<Endpoint, "level" | "acceptsCode" | "lasting">;

const WRONG_KEYS_PER_MINUTE = 600;
/** An attacker with many addresses must not fill the database either. */
const AUDITED_ADDRESSES_PER_MINUTE = 20;

export interface AuthenticateOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly tokenInQuery: boolean;
  /** Per key, including its sessions. */
  readonly limits: { readonly requestsPerMinute: number };
  readonly sessionIdleMs: number;
  readonly publicUrl?: string | undefined;
}

export function createAuthenticate(options: AuthenticateOptions) {
  const { store, clock, limits, sessionIdleMs: idleMs } = options;
  const refuseWrongKey = createRefusal(store, clock);
  const allowOneMore = createRequestLimit(clock, limits);
  /**
   * Rejects with `unauthenticated` without an active key or an open session, `forbidden` for a key
   * below the level and for cross-site changes with a session, and `too_many` after a flood of
   * requests with one key, or with wrong keys from one address. Wrong keys never block a valid one:
   * no one can lock out others behind the same address.
   */
  return async (
    request: FastifyRequest,
    { level, acceptsCode = false, lasting = false }: Requirements,
  ): Promise<Authenticated> => {
    const { given, session } = credentialIn(request, acceptsCode, options);
    const principal =
      session === undefined
        ? ((await keyNamed(store, given, acceptsCode)) ??
          (await refuseWrongKey(clientAddress(request))))
        : await keyOfSession(store, session, { idleMs, isUse: !lasting && isUse(request) });
    if (!principal) throw unauthenticated();
    allowOneMore(principal);
    return { principal: withLevel(principal, level), session };
  };
}

/** A key or a code; without one, the secret of a session. */
interface Credential {
  readonly given: unknown;
  readonly session: string | undefined;
}

/** Throws if there is none, and for a cross-site change with a session. */
function credentialIn(
  request: FastifyRequest,
  acceptsCode: boolean,
  { tokenInQuery, publicUrl }: Pick<AuthenticateOptions, "tokenInQuery" | "publicUrl">,
): Credential {
  // Signing in takes no key from the query: another site could make a browser send its own key.
  const given = keyIn(request, tokenInQuery && !acceptsCode);
  if (given !== undefined) return { given, session: undefined };
  // A session cannot open another: that would outlive it.
  const session = acceptsCode ? undefined : sessionSecretOf(request);
  if (session === undefined) throw unauthenticated();
  assertSameOrigin(request, publicUrl);
  return { given, session };
}

/** Returns a check that throws `too_many` for a key with too many requests in a minute. */
function createRequestLimit(clock: Clock, { requestsPerMinute }: AuthenticateOptions["limits"]) {
  const countRequest = createCounts(clock, MINUTE_MS);
  return ({ key_id }: Principal): void => {
    const { count, secondsLeft } = countRequest(key_id);
    if (count > requestsPerMinute)
      throw new TooManyError(
        `Too many requests with this API key: at most ${requestsPerMinute} a minute (SONDE_MAX_REQUESTS_PER_MINUTE); try again in ${secondsLeft} s`,
        secondsLeft,
      );
  };
}

/** Returns a function that rejects a wrong key from an address. */
function createRefusal(store: Store, clock: Clock): (ip: string) => Promise<never> {
  const countWrongKey = createCounts(clock, MINUTE_MS);
  const recordFailure = createFailureRecord(store, clock);
  return async (ip) => {
    const { count, secondsLeft } = countWrongKey(ip);
    if (count === 1) await recordFailure(ip);
    if (count <= WRONG_KEYS_PER_MINUTE) throw unauthenticated();
    throw new TooManyError(
      `Too many requests with a wrong API key; try again in ${secondsLeft} s`,
      secondsLeft,
    );
  };
}

async function keyNamed(
  store: Store,
  given: unknown,
  acceptsCode: boolean,
): Promise<ApiKey | undefined> {
  if (typeof given !== "string") return undefined;
  if (isApiKey(given)) return store.apiKeys.findByHash(hashApiKey(given));
  return acceptsCode && isSignInCode(given) ? spendSignInCode(store, given) : undefined;
}

/**
 * Records failed sign-ins in the audit trail, but never the key: the first per address and minute.
 * Beyond the limit of addresses, one more entry without an address stands for the rest.
 */
function createFailureRecord(store: Store, clock: Clock): (ip: string) => Promise<void> {
  const countEntry = createCounts(clock, MINUTE_MS);
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

function keyIn({ headers, query }: FastifyRequest, tokenInQuery: boolean): unknown {
  const bearer = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1];
  const inQuery = (query as Readonly<Record<string, unknown>>)["_token"];
  return bearer ?? headers["x-api-key"] ?? (tokenInQuery ? inQuery : undefined);
}

function withLevel(principal: Principal, needed: AccessLevel): Principal {
  if (hasLevel(principal, needed)) return principal;
  throw new AppError(
    "forbidden",
    `This needs a key of access level ${needed}; yours is ${principal.access_level}`,
  );
}
