// When each token is due for renewal, and which process has claimed it: columns next to the token.
// Only due tokens are read, and an owner can write a claimed token.
import { sql } from "kysely";
import type { ExpressionBuilder } from "kysely";
import { AT_ONCE, LEAST_BETWEEN_MS } from "../../model/token-renewal.ts";
import type { Database } from "../database.ts";
import type { DueToken } from "../records.ts";
import type { Schema } from "../schema.ts";

/** The renewal time of a token after it, or its setting, was written: no later than before. */
export const DUE_WHEN_WRITTEN = sql<number>`case
  when renewal_time <= renewal_asked + ${LEAST_BETWEEN_MS} then renewal_time
  else coalesce(renewal_asked + ${LEAST_BETWEEN_MS}, ${AT_ONCE}) end`;

/**
 * A token is due at once after it, or its setting, was written, but not within `LEAST_BETWEEN_MS`
 * after its endpoint was asked, unless it was due by then.
 */
export function createRenewalStore({ kysely }: Database) {
  const token = (id: string) =>
    kysely.updateTable("documents").where("id", "=", id).where("kind", "=", "token");
  const claimedUntil = (id: string, claimed: number) =>
    token(id).where("renewal_claim", "=", claimed);
  return {
    /**
     * Unclaimed tokens that are due and that a call uses, longest due first. Leaves out tokens of
     * owners without an active key: they stay due until there is one.
     */
    listDue: (now: number): Promise<DueToken[]> => dueTokens(kysely, now),
    /**
     * Claims the token for one process until `until`, even if it is written meanwhile. False if
     * another process was first.
     */
    async claim(id: string, now: number, until: number): Promise<boolean> {
      const { numUpdatedRows } = await token(id)
        .set({ renewal_time: until, renewal_claim: until })
        .where("renewal_time", "<=", now)
        .where(isFree(now))
        .executeTakeFirstOrThrow();
      return numUpdatedRows > 0n;
    },
    /** Records that the endpoint of a claimed token is about to be called. */
    async noteAsked(id: string, claimed: number, now: number): Promise<void> {
      await claimedUntil(id, claimed).set({ renewal_asked: now }).execute();
    },
    /**
     * Ends the claim that lasts until `claimed`. The token is due again at `next`; null: not before
     * it, or its setting, is written. False if that happened since the claim: it then stays due.
     */
    async release(id: string, claimed: number, next: number | null): Promise<boolean> {
      const { numUpdatedRows } = await claimedUntil(id, claimed)
        .set({ renewal_time: next, renewal_claim: null })
        .where("renewal_time", "=", claimed)
        .executeTakeFirstOrThrow();
      if (numUpdatedRows > 0n) return true;
      await claimedUntil(id, claimed).set({ renewal_claim: null }).execute();
      return false;
    },
    /** Sets when a token that the same transaction wrote is due again; null as in `release`. */
    async putOff(id: string, next: number | null): Promise<void> {
      await token(id).set({ renewal_time: next }).execute();
    },
  };
}

const dueTokens = (kysely: Database["kysely"], now: number): Promise<DueToken[]> =>
  kysely
    .selectFrom("documents")
    .select(["id", "owner", "owner_org"])
    .where("renewal_time", "<=", now)
    .where(isFree(now))
    .where("kind", "=", "token")
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom("documents as call")
          .select("call.id")
          .where("call.kind", "=", "call")
          .whereRef("call.token_id", "=", "documents.id"),
      ),
    )
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom("api_keys")
          .select("api_keys.id")
          .where("revoked", "=", 0)
          .whereRef("api_keys.owner", "=", "documents.owner")
          .where(sql<boolean>`api_keys.org is not distinct from documents.owner_org`),
      ),
    )
    .orderBy("renewal_time")
    .orderBy("id")
    .execute();

const isFree = (now: number) => (eb: ExpressionBuilder<Schema, "documents">) =>
  eb.or([eb("renewal_claim", "is", null), eb("renewal_claim", "<=", now)]);

/** Makes the setting's tokens due: a change of the setting may have repaired them. */
export async function renewTokensOf({ kysely }: Database, settingId: string): Promise<void> {
  await kysely
    .updateTable("documents")
    .set({ renewal_time: DUE_WHEN_WRITTEN })
    .where("kind", "=", "token")
    .where("auth_id", "=", settingId)
    .execute();
}
