// The audit trail: rows are added, and never changed.
import { newId } from "../runtime/ids.ts";
import type { Database } from "./database.ts";
import type {
  AuditAction,
  AuditEntry,
  AuditStore,
} from "./ports/audit-store.ts";

export function createAuditStore({ kysely }: Database): AuditStore {
  return {
    async record({ fields, ...entry }) {
      await kysely
        .insertInto("audit")
        .values({
          id: newId(entry.time),
          ...entry,
          fields: JSON.stringify(fields),
        })
        .execute();
    },
    async list({ since = 0, owner, limit }) {
      const rows = await kysely
        .selectFrom("audit")
        .selectAll()
        .where("time", ">=", since)
        .$if(owner !== undefined, (query) =>
          query.where("owner", "=", owner as string),
        )
        .orderBy("time", "desc")
        .orderBy("id", "desc")
        .limit(limit)
        .execute();
      return rows
        .toReversed()
        .map(({ id: _id, action, fields, ...row }): AuditEntry => ({
          ...row,
          action: action as AuditAction,
          fields: JSON.parse(fields) as string[],
        }));
    },
  };
}
