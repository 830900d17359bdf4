// Renews the tokens that calls use, ahead of their expiry; started with the scheduler role. One process at a time does it.
import { randomUUID } from "node:crypto";
import { canRead } from "../model/access.ts";
import { shownAuthSetting } from "../model/auth-setting.ts";
import type { AuthSetting } from "../model/auth-setting.ts";
import { formatInstant } from "../model/instant.ts";
import {
  isRenewable,
  isSameToken,
  renewalTime,
  renewedToken,
  unrenewedToken,
} from "../model/token-renewal.ts";
import { tokenResource } from "../model/token.ts";
import type { Token } from "../model/token.ts";
import { createCron } from "../runtime/cron.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { Logger } from "../runtime/logger.ts";
import type { StoredDocument } from "../store/ports/document-store.ts";
import type { Store } from "../store/store.ts";
import { askForToken } from "./token-endpoint.ts";
import type { EgressRules, TokenAnswer } from "./token-endpoint.ts";
import { tokenRequest } from "./token-request.ts";

export interface RenewalOptions {
  readonly store: Store;
  readonly egress: EgressRules;
  readonly holder: string;
  readonly log: Logger;
  /** That a token endpoint has to answer; default 10 s. */
  readonly timeoutMs?: number;
}

export interface TokenRenewal {
  /** Renews what is due now; resolves when all are saved, or have failed. */
  run(signal: AbortSignal): Promise<void>;
  resign(): Promise<void>;
}

const LEASE = "token-renewal";
const LEASE_MS = 60_000;
const PAGE = 200;
const AT_A_TIME = 10;
const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 300_000;

interface Pause {
  readonly until: number;
  readonly lengthMs: number;
  /** Of the token as it failed: a change by its owner ends the pause. */
  readonly last_update: string;
}

export function createTokenRenewal(options: RenewalOptions): TokenRenewal {
  const { store, holder, log } = options;
  const pauses = new Map<string, Pause>();

  const isDue = ({ id, document }: StoredDocument, now: number): boolean => {
    const token = document as Token;
    const time = renewalTime(token);
    if (time === null || time > now) return false;
    const pause = pauses.get(id);
    return (
      !pause ||
      pause.until <= now ||
      pause.last_update !== token.meta.last_update
    );
  };

  const renew = async (
    stored: StoredDocument,
    now: number,
    signal: AbortSignal,
  ): Promise<void> => {
    const setting = await settingOf(store, stored);
    const before = stored.document as Token;
    if (!setting || !isRenewable(setting, before)) return;
    if ((await store.documents.count("call", "token_id", stored.id)) === 0)
      return;
    const request = await tokenRequest(setting, before, {
      now,
      id: randomUUID(),
    });
    const answered: TokenAnswer =
      typeof request === "string"
        ? { reason: request }
        : await askForToken(request, options.egress, signal, options.timeoutMs);
    const { last_update, reason } = await save(store, stored, answered);
    if (reason === undefined) {
      pauses.delete(stored.id);
      log.info({ token_id: stored.id }, "token renewed");
      return;
    }
    const pausedMs = pauses.get(stored.id)?.lengthMs ?? FIRST_PAUSE_MS / 2;
    const lengthMs = Math.min(pausedMs * 2, LONGEST_PAUSE_MS);
    pauses.set(stored.id, { until: now + lengthMs, lengthMs, last_update });
    log.warn({ token_id: stored.id, reason }, "token not renewed");
  };

  return {
    async run(signal) {
      const now = await store.now();
      const lease = await store.leases.acquire(LEASE, holder, now, LEASE_MS);
      if (!lease) return;
      const due = (await allTokens(store)).filter((token) => isDue(token, now));
      for (let at = 0; at < due.length; at += AT_A_TIME) {
        signal.throwIfAborted();
        const time = await store.now();
        if (!(await store.leases.acquire(LEASE, holder, time, LEASE_MS)))
          return;
        await Promise.all(
          due
            .slice(at, at + AT_A_TIME)
            .map((token) => renew(token, now, signal)),
        );
      }
    },
    async resign() {
      const now = await store.now();
      const lease = await store.leases.acquire(LEASE, holder, now, LEASE_MS);
      if (lease) await store.leases.release(lease);
    },
  };
}

async function allTokens(store: Store): Promise<StoredDocument[]> {
  const tokens: StoredDocument[] = [];
  for (let after = ""; ;) {
    const page = await store.documents.listKind("token", {
      after,
      limit: PAGE,
    });
    tokens.push(...page.filter(({ unreadable }) => !unreadable));
    const last = page.at(-1);
    if (!last || page.length < PAGE) return tokens;
    after = last.id;
  }
}

/** As the token's owner may use it. */
async function settingOf(
  store: Store,
  { owner, owner_org, document }: StoredDocument,
): Promise<AuthSetting | undefined> {
  const { auth_id } = (document as Token).meta;
  const stored = await store.documents.get("auth_setting", auth_id);
  const user = {
    key_id: "",
    owner,
    org: owner_org,
    access_level: "EDITOR",
  } as const;
  if (!stored || !canRead(user, stored)) return undefined;
  const setting = stored.document as AuthSetting;
  return shownAuthSetting(setting, user, stored).keys ? setting : undefined;
}

/** The new token takes the old one's place at once, with the refresh token that came with it. */
async function save(
  store: Store,
  { id, document }: StoredDocument,
  answered: TokenAnswer,
): Promise<{ readonly last_update: string; readonly reason?: string }> {
  return store.transaction(async (within) => {
    const now = await within.now();
    const current = await within.documents.getForUpdate("token", id);
    const before = document as Token;
    const { last_update } = before.meta;
    // Deleted, or changed by its owner meanwhile: what was answered is for another token.
    if (!current || !isSameToken(current.document as Token, before))
      return { last_update };
    const held = current.document as Token;
    const renewed =
      "answer" in answered
        ? renewedToken(held, answered.answer, now)
        : answered.reason;
    const failed = typeof renewed === "string";
    const token = failed ? unrenewedToken(held, renewed) : renewed;
    const meta = { ...token.meta, last_update: formatInstant(now) };
    const changed = { ...token, meta };
    const filters = tokenResource.filters(changed);
    await within.documents.replace({ ...current, document: changed, filters });
    return {
      last_update: meta.last_update,
      ...(failed && { reason: renewed }),
    };
  });
}

export function createRenewalService(options: RenewalOptions): Service {
  const renewal = createTokenRenewal(options);
  const cron = createCron({
    name: "token renewal",
    expression: "*/5 * * * * *",
    log: options.log,
    work: (signal) => renewal.run(signal),
  });
  return {
    name: "token renewal",
    start: () => cron.start(),
    async stop() {
      await cron.stop();
      await renewal.resign();
    },
  };
}
