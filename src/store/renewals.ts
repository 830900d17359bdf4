// When tokens are to be looked at for their renewal: a column beside them, so that what is not due is not read.
import type { Database } from "./database.ts";
import type { NewDocument } from "./ports/document-store.ts";
import { AT_ONCE } from "./ports/renewal-store.ts";
import type { RenewalStore } from "./ports/renewal-store.ts";

export function createRenewalStore({ kysely }: Database): RenewalStore {
  const token = (id: string) =>
    kysely
      .updateTable("documents")
      .where("id", "=", id)
      .where("kind", "=", "token");
  return {
    listDue: (now) =>
      kysely
        .selectFrom("documents as token")
        .select(["token.id", "token.owner"])
        .where("token.renewal_time", "<=", now)
        .where("token.kind", "=", "token")
        .where((eb) =>
          eb.exists(
            eb
              .selectFrom("documents as call")
              .select("call.id")
              .where("call.kind", "=", "call")
              .whereRef("call.token_id", "=", "token.id"),
          ),
        )
        .orderBy("token.renewal_time")
        .orderBy("token.id")
        .execute(),
    async claim(id, now, until) {
      const { numUpdatedRows } = await token(id)
        .set({ renewal_time: until })
        .where("renewal_time", "<=", now)
        .executeTakeFirstOrThrow();
      return numUpdatedRows > 0n;
    },
    async putOff(id, before, until) {
      const { numUpdatedRows } = await token(id)
        .set({ renewal_time: until })
        .where("renewal_time", "=", before)
        .executeTakeFirstOrThrow();
      return numUpdatedRows > 0n;
    },
  };
}

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
