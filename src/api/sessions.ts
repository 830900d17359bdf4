// The sessions of the web pages: a cookie replaces an API key for up to 30 days, while it is used
// and the key is active.
import { hash, randomBytes } from "node:crypto";
import type { Principal } from "../model/access.ts";
import { DAY_MS, HOUR_MS } from "../model/periods.ts";
import { createCron } from "../runtime/cron.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { Logger } from "../runtime/logger.ts";
import type { ApiKey, SessionBounds } from "../store/records.ts";
import type { Store } from "../store/store.ts";

export const LONGEST_SESSION_MS = 30 * DAY_MS;
const CODE_VALID_MS = HOUR_MS;
/** The last use is stored at most this often. */
const NOTE_USE_EVERY_MS = 60_000;
const HOURLY = "37 * * * *";

/** Returns the session's secret, which is not stored. */
export async function openSession(store: Store, keyId: string): Promise<string> {
  const secret = newSecret();
  await store.sessions.open(hashOf(secret), keyId, await store.now());
  return secret;
}

/**
 * Resolves to the session's key; undefined once the session has ended, for example after `idleMs`
 * without use. `isUse`: the request keeps it open.
 */
export async function keyOfSession(
  store: Store,
  secret: string,
  { idleMs, isUse }: { readonly idleMs: number; readonly isUse: boolean },
): Promise<ApiKey | undefined> {
  const now = await store.now();
  const found = await store.sessions.find(hashOf(secret), boundsAt(now, idleMs));
  if (found && isUse && now - found.last_used >= NOTE_USE_EVERY_MS)
    await store.sessions.use(hashOf(secret), now);
  return found?.key;
}

/**
 * Whether an answer that lasts may go on: the caller's key is still active, and the session, if the
 * request came with one, still open.
 */
export async function isStillValid(
  store: Store,
  { key_id }: Pick<Principal, "key_id">,
  session: string | undefined,
  use: Parameters<typeof keyOfSession>[2],
): Promise<boolean> {
  const found =
    session === undefined
      ? await store.apiKeys.find(key_id)
      : await keyOfSession(store, session, use);
  return found !== undefined;
}

export const closeSession = (store: Store, secret: string): Promise<void> =>
  store.sessions.close(hashOf(secret));

/** Resolves to a code that signs in as this key, once, within an hour. */
export async function newSignInCode(store: Store, keyId: string): Promise<string> {
  const code = newSecret();
  await store.sessions.addCode(hashOf(code), keyId, await store.now());
  return code;
}

export const isSignInCode = (text: string): boolean => /^[\w-]{43}$/.test(text);

/** Spends the code and resolves to its key; undefined if the code or its key is not valid. */
export async function spendSignInCode(store: Store, code: string): Promise<ApiKey | undefined> {
  return store.sessions.takeCode(hashOf(code), (await store.now()) - CODE_VALID_MS);
}

const boundsAt = (now: number, idleMs: number): SessionBounds => ({
  used: now - idleMs,
  created: now - LONGEST_SESSION_MS,
});

/** 256 bits of randomness: a fast hash without a salt is enough. */
const newSecret = (): string => randomBytes(32).toString("base64url");
const hashOf = (secret: string): string => hash("sha256", secret);

/** Removes expired sessions and codes, hourly. */
export const createSessionPruning = ({
  store,
  log,
  idleMs,
}: {
  readonly store: Store;
  readonly log: Logger;
  readonly idleMs: number;
}): Service =>
  createCron({
    name: "session pruning",
    expression: HOURLY,
    log,
    async work() {
      const now = await store.now();
      await store.sessions.prune(boundsAt(now, idleMs), now - CODE_VALID_MS);
    },
  });
