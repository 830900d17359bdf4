// Renews one token: calls its endpoint, and saves the answer or the reason for its absence.
import { randomUUID } from "node:crypto";
import { canRead, ownerOf } from "../model/access.ts";
import { shownAuthSetting } from "../model/auth-setting.ts";
import type { AuthSetting } from "../model/auth-setting.ts";
import { isUnavailable } from "../model/errors.ts";
import { formatInstant } from "../model/instant.ts";
import { cannotBeDecrypted } from "../model/secrets.ts";
import { whyWithheld } from "../model/token-destination.ts";
import {
  LEAST_BETWEEN_MS,
  isRenewable,
  isSameToken,
  renewalFailureOf,
  renewalTime,
  renewedToken,
  unrenewedToken,
} from "../model/token-renewal.ts";
import { tokenResource } from "../model/token.ts";
import type { Token } from "../model/token.ts";
import type { Logger } from "../runtime/logger.ts";
import { retry } from "../runtime/retry.ts";
import type { StoredDocument } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import type { RenewalMetrics } from "./metrics.ts";
import { askForToken } from "./token-endpoint.ts";
import type { TokenAnswer, TokenNetwork } from "./token-endpoint.ts";
import { tokenRequest } from "./token-request.ts";

export interface RenewalOptions extends TokenNetwork {
  readonly store: Store;
  readonly log: Logger;
  readonly metrics: RenewalMetrics;
}

export type RenewalOutcome =
  | { readonly outcome: "renewed" | "superseded" }
  | { readonly outcome: "failed"; readonly reason: string };

export interface Attempt {
  readonly id: string;
  /** The life of a new token counts from then, before its endpoint was asked. */
  readonly now: number;
  /** When the claim on the token ends. */
  readonly claimed: number;
  /** Aborts when no further attempt to save may begin. */
  readonly tooLate: AbortSignal;
  /** How long the token is left alone if the renewal fails. */
  readonly pauseMs: number;
}

const SAVE_PAUSE_MS = 500;

/** Returns undefined if there is nothing to renew now. */
export async function renewToken(
  options: RenewalOptions,
  attempt: Attempt,
): Promise<RenewalOutcome | undefined> {
  const { store, metrics } = options;
  const { id, now, claimed, tooLate, pauseMs } = attempt;
  const stored = await store.documents.get("token", id);
  if (!stored) return undefined;
  if (stored.unreadable) {
    await store.renewals.release(id, claimed, now + pauseMs);
    return { outcome: "failed", reason: cannotBeDecrypted("the token") };
  }
  const token = stored.document as Token;
  const setting = await settingOf(store, stored);
  const document = setting?.document as AuthSetting | undefined;
  const time = document && isRenewable(document, token) ? renewalTime(token) : null;
  if (!document || time === null || time > now) {
    await store.renewals.release(id, claimed, time);
    return undefined;
  }
  await store.renewals.noteAsked(id, claimed, now);
  const ended = metrics.duration.startTimer();
  const answered: TokenAnswer = setting?.unreadable
    ? { reason: cannotBeDecrypted("the authentication setting") }
    : await ask(document, token, now, options);
  // The endpoint may accept only this answer from now on: retry through a database outage.
  const outcome = await retry(() => save(store, token, attempt, answered), {
    delayMs: () => SAVE_PAUSE_MS,
    isRetryable: (cause) => isUnavailable(cause) && !tooLate.aborted,
  });
  ended();
  return outcome;
}

/**
 * The token's setting as the token's owner sees it, if they may use its keys and the token may be
 * sent.
 */
async function settingOf(store: Store, token: StoredDocument): Promise<StoredDocument | undefined> {
  const { auth_id } = (token.document as Token).meta;
  const stored = await store.documents.get("auth_setting", auth_id);
  const user = ownerOf(token);
  if (!stored || !canRead(user, stored) || whyWithheld(token, stored)) return undefined;
  const document = shownAuthSetting(stored.document as AuthSetting, user, stored);
  return document.keys ? { ...stored, document } : undefined;
}

async function ask(
  setting: AuthSetting,
  token: Token,
  now: number,
  network: TokenNetwork,
): Promise<TokenAnswer> {
  const request = await tokenRequest(setting, token, { now, id: randomUUID() });
  return typeof request === "string" ? { reason: request } : askForToken(request, network);
}

/**
 * Saves the new token with its refresh token, or the reason for its absence. `before`: the token as
 * it was when its endpoint was asked.
 */
function save(
  store: Store,
  before: Token,
  { id, now: asked, claimed, pauseMs }: Attempt,
  answered: TokenAnswer,
): Promise<RenewalOutcome> {
  return store.transaction(async (within) => {
    const { documents, renewals } = within;
    const now = await within.now();
    const current = await documents.getForUpdate("token", id);
    // The token was deleted or changed meanwhile: the answer belongs to another one.
    if (!current || current.unreadable || !isSameToken(current.document as Token, before)) {
      await renewals.release(id, claimed, asked + LEAST_BETWEEN_MS);
      return { outcome: "superseded" };
    }
    /** A token whose owner changed it or its setting meanwhile stays due. */
    const end = async (next: number | null, changed?: Token): Promise<void> => {
      const isPutOff = await renewals.release(id, claimed, next);
      if (!changed) return;
      await replace(documents, current, changed, now);
      if (isPutOff) await renewals.putOff(id, next);
    };
    const held = current.document as Token;
    // Given since the endpoint was asked, by a change of another owner's setting.
    const said = renewalFailureOf(held);
    const withheld = said === renewalFailureOf(before) ? null : said;
    const renewed =
      "answer" in answered ? renewedToken(held, answered.answer, asked) : answered.reason;
    if (typeof renewed !== "string") {
      const next = renewalTime(renewed);
      const kept = withheld === null ? renewed : unrenewedToken(renewed, withheld);
      await end(next && Math.max(next, asked + LEAST_BETWEEN_MS), kept);
      return { outcome: "renewed" };
    }
    // A repeated reason is not saved: each write gives the owner another version of the token.
    const isNews = withheld === null && said !== renewed;
    await end(now + pauseMs, isNews ? unrenewedToken(held, renewed) : undefined);
    return { outcome: "failed", reason: renewed };
  });
}

async function replace(
  documents: Store["documents"],
  stored: StoredDocument,
  token: Token,
  now: number,
): Promise<void> {
  const meta = { ...token.meta, last_update: formatInstant(now) };
  const document = { ...token, meta };
  const filters = tokenResource.filters(document);
  await documents.replace({ ...stored, document, filters });
}
