// Stores API keys, as hashes.
import type { Selectable } from "kysely";
import { identityOf } from "../../model/access.ts";
import type { AccessLevel, Actor, Ownership } from "../../model/access.ts";
import type { Database } from "../database.ts";
import { countAll, isAmong } from "../database.ts";
import { isOf } from "../identity.ts";
import { prepared } from "../prepared.ts";
import type { ApiKey, Page } from "../records.ts";
import type { Schema } from "../schema.ts";

export function createApiKeyStore(database: Database) {
  const { kysely } = database;
  const active = () => kysely.selectFrom("api_keys").selectAll().where("revoked", "=", 0);
  return {
    /** Returns false if there is already a key with this id. */
    async insert({ key_id, revoked, ...key }: ApiKey, hash: string): Promise<boolean> {
      const { numInsertedOrUpdatedRows = 0n } = await kysely
        .insertInto("api_keys")
        .values({ id: key_id, hash, revoked: Number(revoked), ...key })
        .onConflict((conflict) => conflict.column("id").doNothing())
        .executeTakeFirstOrThrow();
      return numInsertedOrUpdatedRows > 0n;
    },
    /** Returns undefined for an unknown or revoked key. */
    findByHash: (hash: string): Promise<ApiKey | undefined> => keyByHash(database, hash),
    /** Returns undefined for an unknown or revoked key. */
    async find(id: string): Promise<ApiKey | undefined> {
      const row = await active().where("id", "=", id).executeTakeFirst();
      return row && toApiKey(row);
    },
    /** Returns those of the keys that exist, including revoked ones, by id. */
    getMany: (ids: readonly string[]) => keysById(database, ids),
    /** Lists the active keys of one owner, or of all owners if `owner` is null. */
    async list(owner: Actor | null, { after, limit }: Page): Promise<ApiKey[]> {
      const rows = await active()
        .where("id", ">", after)
        .$if(owner !== null, (query) => query.where(isOf(owner as Actor, "org")))
        .orderBy("id")
        .limit(limit)
        .execute();
      return rows.map(toApiKey);
    },
    /**
     * Returns the `identityOf` of each of these owners with an active key, and of their namesakes
     * with one in other organizations.
     */
    ownersWithKey: (owners: readonly Ownership[]) => ownersWithKey(database, owners),
    /**
     * Revokes a key of this owner, or of any owner if `owner` is null. Returns false if there is no
     * such active key.
     */
    async revoke(id: string, owner: Actor | null, now: number): Promise<boolean> {
      const { numUpdatedRows } = await kysely
        .updateTable("api_keys")
        .set({ revoked: 1, last_update: now })
        .where("id", "=", id)
        .where("revoked", "=", 0)
        .$if(owner !== null, (query) => query.where(isOf(owner as Actor, "org")))
        .executeTakeFirstOrThrow();
      return numUpdatedRows > 0n;
    },
    /** Counts the active keys of one owner. */
    countOf: (owner: Actor): Promise<number> => countAll(active().where(isOf(owner, "org"))),
    /** Counts all keys, including revoked ones. */
    count: (): Promise<number> => countAll(kysely.selectFrom("api_keys")),
  };
}

/** Most requests come with the same few keys. */
function keyByHash({ kysely, remember }: Database, hash: string): Promise<ApiKey | undefined> {
  const read = async () => {
    const [row] = (await activeByHash(kysely, { hash })).rows;
    return row && toApiKey(row);
  };
  return remember && !kysely.isTransaction ? remember(hash, read) : read();
}

async function keysById(
  database: Database,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ApiKey>> {
  if (ids.length === 0) return new Map();
  const keys = database.kysely.selectFrom("api_keys").selectAll();
  const rows = await keys.where(isAmong(database, "id", ids)).execute();
  return new Map(rows.map((row) => [row.id, toApiKey(row)]));
}

async function ownersWithKey(
  database: Database,
  owners: readonly Ownership[],
): Promise<ReadonlySet<string>> {
  const names = [...new Set(owners.map(({ owner }) => owner))];
  const rows = await database.kysely
    .selectFrom("api_keys")
    .select(["owner", "org as owner_org"])
    .distinct()
    .where("revoked", "=", 0)
    .where(isAmong(database, "owner", names))
    .execute();
  return new Set(rows.map(identityOf));
}

const activeByHash = prepared(["hash"], (kysely, { hash }) =>
  kysely.selectFrom("api_keys").selectAll().where("revoked", "=", 0).where("hash", "=", hash),
);

export const toApiKey = (row: Selectable<Schema["api_keys"]>): ApiKey => ({
  key_id: row.id,
  owner: row.owner,
  org: row.org,
  access_level: row.access_level as AccessLevel,
  name: row.name,
  created: row.created,
  last_update: row.last_update,
  revoked: row.revoked === 1,
});
