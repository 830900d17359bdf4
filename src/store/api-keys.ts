// Keys of the API: only hashes of them.
import type { Selectable } from "kysely";
import type { AccessLevel } from "../model/access.ts";
import type { Database } from "./database.ts";
import type { Schema } from "./schema.ts";
import type { ApiKey, ApiKeyStore } from "./ports/api-key-store.ts";

export function createApiKeyStore({ kysely }: Database): ApiKeyStore {
  const inForce = () => kysely.selectFrom("api_keys").selectAll().where("revoked", "=", 0);
  return {
    async insert({ key_id, revoked, ...key }, hash) {
      const { numInsertedOrUpdatedRows } = await kysely
        .insertInto("api_keys")
        .values({ id: key_id, hash, revoked: Number(revoked), ...key })
        .onConflict((conflict) => conflict.column("id").doNothing())
        .executeTakeFirstOrThrow();
      return (numInsertedOrUpdatedRows ?? 0n) > 0n;
    },
    async findByHash(hash) {
      const row = await inForce().where("hash", "=", hash).executeTakeFirst();
      return row && toApiKey(row);
    },
    async list(owner, { after, limit }) {
      const rows = await inForce()
        .where("id", ">", after)
        .$if(owner !== null, (query) => query.where("owner", "=", owner))
        .orderBy("id")
        .limit(limit)
        .execute();
      return rows.map(toApiKey);
    },
    async revoke(id, owner, now) {
      const { numUpdatedRows } = await kysely
        .updateTable("api_keys")
        .set({ revoked: 1, last_update: now })
        .where("id", "=", id)
        .where("revoked", "=", 0)
        .$if(owner !== null, (query) => query.where("owner", "=", owner))
        .executeTakeFirstOrThrow();
      return numUpdatedRows > 0n;
    },
    async count() {
      const { count } = await kysely
        .selectFrom("api_keys")
        .select((eb) => eb.fn.countAll<number>().as("count"))
        .executeTakeFirstOrThrow();
      return count;
    },
  };
}

const toApiKey = (row: Selectable<Schema["api_keys"]>): ApiKey => ({
  key_id: row.id,
  owner: row.owner,
  org: row.org,
  access_level: row.access_level as AccessLevel,
  created: row.created,
  last_update: row.last_update,
  revoked: row.revoked === 1,
});
