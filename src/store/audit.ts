// The audit trail. Its rows are never changed.
import type { Actor } from "../model/access.ts";
import { newId } from "../runtime/ids.ts";
import type { Database } from "./database.ts";
import { isOf } from "./identity.ts";
import { prepared } from "./prepared.ts";
import type { AuditAction, AuditEntry } from "../model/audit.ts";
import type { AuditQuery } from "./records.ts";

const COLUMNS = [
  "time",
  "actor",
  "owner",
  "org",
  "address",
  "action",
  "kind",
  "object_id",
  "object_owner",
  "object_org",
  "fields",
] as const;

const insertEntry = prepared(["id", ...COLUMNS], (kysely, row) =>
  kysely.insertInto("audit").values(row),
);

export type AuditStore = ReturnType<typeof createAuditStore>;

export const createAuditStore = ({ kysely }: Database) => ({
  /** To be called in the transaction of the change. */
  async record({ fields, ...entry }: AuditEntry): Promise<void> {
    const row = { object_owner: null, object_org: null, ...entry, fields: JSON.stringify(fields) };
    await insertEntry(kysely, { id: newId(entry.time), ...row });
  },
  /** The newest entries that match, oldest first. */
  async list({ since = 0, of, limit }: AuditQuery): Promise<AuditEntry[]> {
    const rows = await kysely
      .selectFrom("audit")
      .select(COLUMNS)
      .where("time", ">=", since)
      .$if(of !== undefined, (query) =>
        query.where((eb) => eb.or([isOf(of as Actor, "org"), isOf(of as Actor, "object_org")])),
      )
      .orderBy("time", "desc")
      .orderBy("id", "desc")
      .limit(limit)
      .execute();
    return rows.toReversed().map((row) => ({
      ...row,
      action: row.action as AuditAction,
      fields: JSON.parse(row.fields) as string[],
    }));
  },
});
