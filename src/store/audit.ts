// The audit trail: rows are added, and never changed.
import { newId } from "../runtime/ids.ts";
import type { Database } from "./database.ts";
import type { AuditAction, AuditEntry, AuditStore } from "./ports/audit-store.ts";

const COLUMNS = [
  "time",
  "actor",
  "owner",
  "address",
  "action",
  "kind",
  "object_id",
  "fields",
] as const;

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
        .select(COLUMNS)
        .where("time", ">=", since)
        .$if(owner !== undefined, (query) => query.where("owner", "=", owner as string))
        .orderBy("time", "desc")
        .orderBy("id", "desc")
        .limit(limit)
        .execute();
      return rows.toReversed().map((row): AuditEntry => ({
        ...row,
        action: row.action as AuditAction,
        fields: JSON.parse(row.fields) as string[],
      }));
    },
  };
}
