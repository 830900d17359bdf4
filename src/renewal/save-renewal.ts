// Keeps what a token endpoint answered, or why there is no answer, with the token that it was asked
// for.
import { formatInstant } from "../model/instant.ts";
import {
  AT_ONCE,
  isSameToken,
  renewalFailureOf,
  renewalTime,
  renewedToken,
  unrenewedToken,
} from "../model/token-renewal.ts";
import { tokenResource } from "../model/token.ts";
import type { Token } from "../model/token.ts";
import type { StoredDocument } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import type { TokenAnswer } from "./token-endpoint.ts";

export type RenewalOutcome =
  | { readonly outcome: "renewed" | "superseded" }
  | { readonly outcome: "failed"; readonly reason: string };

export interface ClaimedToken {
  /** As it was when it was asked for. */
  readonly stored: StoredDocument;
  /** When its endpoint was asked: the life of a new token counts from before it was given. */
  readonly asked: number;
  /** Until when it was taken. */
  readonly claimed: number;
  /** For a renewal that fails. */
  readonly pauseMs: number;
}

/** The new token takes the old one's place at once, with the refresh token that came with it. */
export function saveRenewal(
  store: Store,
  { stored, asked, claimed, pauseMs }: ClaimedToken,
  answered: TokenAnswer,
): Promise<RenewalOutcome> {
  const { id, document } = stored;
  return store.transaction(async (within) => {
    const { documents, renewals } = within;
    const now = await within.now();
    const current = await documents.getForUpdate("token", id);
    // Deleted, or changed meanwhile, by its owner or in the database: what was answered is for
    // another token.
    if (
      !current ||
      current.unreadable ||
      !isSameToken(current.document as Token, document as Token)
    ) {
      await renewals.release(id, claimed, AT_ONCE);
      return { outcome: "superseded" };
    }
    /** Where the owner wrote the token or its setting meanwhile, it stays due at once. */
    const end = async (next: number | null, changed?: Token): Promise<void> => {
      const isPutOff = await renewals.release(id, claimed, next);
      if (!changed) return;
      await replace(documents, current, changed, now);
      if (isPutOff) await renewals.putOff(id, next);
    };
    const held = current.document as Token;
    const renewed =
      "answer" in answered ? renewedToken(held, answered.answer, asked) : answered.reason;
    if (typeof renewed !== "string") {
      await end(renewalTime(renewed), renewed);
      return { outcome: "renewed" };
    }
    // Only written where the reason is news: to its owner, each writing is another version of the
    // token.
    const isNews = renewalFailureOf(held) !== renewed;
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
