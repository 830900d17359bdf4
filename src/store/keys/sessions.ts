// Sessions of the web pages, and one-time sign-in codes. Each represents an API key and ends with
// it. Both are stored as hashes.
import type { Database } from "../database.ts";
import { toApiKey } from "./api-keys.ts";
import type { ApiKey, Session, SessionBounds } from "../records.ts";

export const createSessionStore = (database: Database) => ({
  ...sessionRows(database),
  ...codeRows(database),
  /** Removes sessions that have ended and codes made before `codesSince`. */
  async prune(since: SessionBounds, codesSince: number): Promise<void> {
    await database.kysely
      .deleteFrom("sessions")
      .where((eb) => eb.or([eb("last_used", "<", since.used), eb("created", "<", since.created)]))
      .execute();
    await database.kysely.deleteFrom("sign_in_codes").where("created", "<", codesSince).execute();
  },
});

const sessionRows = ({ kysely }: Database) => ({
  async open(hash: string, key_id: string, now: number): Promise<void> {
    await kysely
      .insertInto("sessions")
      .values({ hash, key_id, created: now, last_used: now })
      .execute();
  },
  /** Undefined once the session has ended, or its key is revoked. */
  async find(hash: string, since: SessionBounds): Promise<Session | undefined> {
    const row = await kysely
      .selectFrom("sessions")
      .innerJoin("api_keys", "api_keys.id", "sessions.key_id")
      .selectAll("api_keys")
      .select(["sessions.created as opened", "sessions.last_used as last_used"])
      .where("sessions.hash", "=", hash)
      .where("sessions.last_used", ">=", since.used)
      .where("sessions.created", ">=", since.created)
      .where("revoked", "=", 0)
      .executeTakeFirst();
    if (!row) return undefined;
    const { opened, last_used, ...key } = row;
    return { key: toApiKey(key), created: opened, last_used };
  },
  async use(hash: string, now: number): Promise<void> {
    await kysely
      .updateTable("sessions")
      .set({ last_used: now })
      .where("hash", "=", hash)
      .where("last_used", "<", now)
      .execute();
  },
  async close(hash: string): Promise<void> {
    await kysely.deleteFrom("sessions").where("hash", "=", hash).execute();
  },
});

const codeRows = ({ kysely }: Database) => ({
  async addCode(hash: string, key_id: string, now: number): Promise<void> {
    await kysely.insertInto("sign_in_codes").values({ hash, key_id, created: now }).execute();
  },
  /** Takes a code, which works once. Returns its active key if the code was made since then. */
  async takeCode(hash: string, since: number): Promise<ApiKey | undefined> {
    const code = await kysely
      .deleteFrom("sign_in_codes")
      .where("hash", "=", hash)
      .returning(["key_id", "created"])
      .executeTakeFirst();
    if (!code || code.created < since) return undefined;
    const key = await kysely
      .selectFrom("api_keys")
      .selectAll()
      .where("id", "=", code.key_id)
      .where("revoked", "=", 0)
      .executeTakeFirst();
    return key && toApiKey(key);
  },
});
