// When tokens are to be looked at for their renewal, and who has them: columns beside them, so that
// what is not due is not read. A claim has one of its own: the owner may write the token meanwhile.
import type { ExpressionBuilder } from "kysely";
import type { Database } from "./database.ts";
import type { NewDocument } from "./ports/document-store.ts";
import { AT_ONCE } from "./ports/renewal-store.ts";
import type { RenewalStore } from "./ports/renewal-store.ts";
import type { Schema } from "./schema.ts";

export function createRenewalStore({ kysely }: Database): RenewalStore {
  const token = (id: string) =>
    kysely.updateTable("documents").where("id", "=", id).where("kind", "=", "token");
  const claimedUntil = (id: string, claimed: number) =>
    token(id).where("renewal_claim", "=", claimed);
  return {
    listDue: (now) =>
      kysely
        .selectFrom("documents")
        .select(["id", "owner"])
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
        .orderBy("renewal_time")
        .orderBy("id")
        .execute(),
    async claim(id, now, until) {
      const { numUpdatedRows } = await token(id)
        .set({ renewal_time: until, renewal_claim: until })
        .where("renewal_time", "<=", now)
        .where(isFree(now))
        .executeTakeFirstOrThrow();
      return numUpdatedRows > 0n;
    },
    async release(id, claimed, next) {
      const { numUpdatedRows } = await claimedUntil(id, claimed)
        .set({ renewal_time: next, renewal_claim: null })
        .where("renewal_time", "=", claimed)
        .executeTakeFirstOrThrow();
      if (numUpdatedRows > 0n) return true;
      await claimedUntil(id, claimed).set({ renewal_claim: null }).execute();
      return false;
    },
    async putOff(id, next) {
      await token(id).set({ renewal_time: next }).execute();
    },
  };
}

const isFree = (now: number) => (eb: ExpressionBuilder<Schema, "documents">) =>
  eb.or([eb("renewal_claim", "is", null), eb("renewal_claim", "<=", now)]);

/** What is wrong with a token may be put right in its setting. */
export async function lookAtTokensOf(
  { kysely }: Database,
  { id, kind }: NewDocument,
): Promise<void> {
  if (kind !== "auth_setting") return;
  await kysely
    .updateTable("documents")
    .set({ renewal_time: AT_ONCE })
    .where("kind", "=", "token")
    .where("auth_id", "=", id)
    .execute();
}
