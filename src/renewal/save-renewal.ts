// Keeps what a token endpoint answered, or why there is no answer, with the token that it was asked for.
import { formatInstant } from "../model/instant.ts";
import {
  isSameToken,
  renewalFailureOf,
  renewalTime,
  renewedToken,
  unrenewedToken,
} from "../model/token-renewal.ts";
import { tokenResource } from "../model/token.ts";
import type { Token } from "../model/token.ts";
import type { StoredDocument } from "../store/ports/document-store.ts";
import { AT_ONCE } from "../store/ports/renewal-store.ts";
import type { Store } from "../store/store.ts";
import type { TokenAnswer } from "./token-endpoint.ts";

export type RenewalOutcome =
  | { readonly outcome: "renewed" | "superseded" }
  | { readonly outcome: "failed"; readonly reason: string };

export interface ClaimedToken {
  /** As it was when it was asked for. */
  readonly stored: StoredDocument;
  /** Until when it was taken. */
  readonly claimed: number;
  /** For a renewal that fails. */
  readonly pauseMs: number;
}

/** The new token takes the old one's place at once, with the refresh token that came with it. */
export function saveRenewal(
  store: Store,
  token: ClaimedToken,
  answered: TokenAnswer,
): Promise<RenewalOutcome> {
  const { id, document } = token.stored;
  return store.transaction(async (within) => {
    const now = await within.now();
    const current = await within.documents.getForUpdate("token", id);
    // Deleted, or changed by its owner meanwhile: what was answered is for another token.
    if (!current || !isSameToken(current.document as Token, document as Token))
      return { outcome: "superseded" };
    const held = current.document as Token;
    const renewed =
      "answer" in answered
        ? renewedToken(held, answered.answer, now)
        : answered.reason;
    if (typeof renewed === "string") {
      await saveFailure(within, { ...token, stored: current }, renewed, now);
      return { outcome: "failed", reason: renewed };
    }
    await replace(within, current, renewed, now);
    await within.renewals.putOff(id, AT_ONCE, renewalTime(renewed));
    return { outcome: "renewed" };
  });
}

/** A token is only written where the reason is news: to its owner, each writing is another version of it. */
async function saveFailure(
  within: Store,
  { stored, claimed, pauseMs }: ClaimedToken,
  reason: string,
  now: number,
): Promise<void> {
  const { renewals } = within;
  const { id } = stored;
  const token = stored.document as Token;
  const isPaused = await renewals.putOff(id, claimed, now + pauseMs);
  if (renewalFailureOf(token) === reason) return;
  await replace(within, stored, unrenewedToken(token, reason), now);
  if (isPaused) await renewals.putOff(id, AT_ONCE, now + pauseMs);
}

async function replace(
  within: Store,
  stored: StoredDocument,
  token: Token,
  now: number,
): Promise<void> {
  const meta = { ...token.meta, last_update: formatInstant(now) };
  const document = { ...token, meta };
  const filters = tokenResource.filters(document);
  await within.documents.replace({ ...stored, document, filters });
}
