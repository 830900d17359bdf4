// The audit trail. Its rows are never changed.
import { sql } from "kysely";
import type { Selectable } from "kysely";
import type { Actor } from "../model/access.ts";
import { newId } from "../runtime/ids.ts";
import type { Database } from "./database.ts";
import { isOf } from "./identity.ts";
import { prepared } from "./prepared.ts";
import type { AuditAction, AuditEntry, StoredAuditEntry } from "../model/audit.ts";
import type { Schema } from "./schema.ts";

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

export interface AuditQuery {
  /** Inclusive. */
  readonly since?: number | undefined;
  /** Only entries on behalf of this owner, or about this owner's objects. */
  readonly of?: Actor | undefined;
  readonly limit: number;
}

/** A page of the entries on behalf of an owner, or about the owner's objects. */
export interface AuditPage {
  readonly of: Actor;
  /** By time: desc is newest first. */
  readonly order: "asc" | "desc";
  /** Exclusive; undefined for the first page. */
  readonly after: Pick<StoredAuditEntry, "time" | "id"> | undefined;
  /** `from` inclusive, `to` exclusive. */
  readonly from: number | undefined;
  readonly to: number | undefined;
  readonly limit: number;
}

export const createAuditStore = ({ kysely }: Database) => ({
  /** Call it in the transaction of the change. */
  async record({ fields, ...entry }: AuditEntry): Promise<void> {
    const row = { object_owner: null, object_org: null, ...entry, fields: JSON.stringify(fields) };
    await insertEntry(kysely, { id: newId(entry.time), ...row });
  },
  /** Returns the newest matching entries, oldest first. */
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
    return rows.toReversed().map(toEntry);
  },
  /** Returns entries ordered by time, in the page's direction. */
  async page(page: AuditPage): Promise<StoredAuditEntry[]> {
    const sign = page.order === "asc" ? 1 : -1;
    // One query per column: each has its own index.
    const entries = [
      ...(await pageBy(kysely, "org", page)),
      ...(await pageBy(kysely, "object_org", page)),
    ];
    return entries
      .toSorted((a, b) => sign * (a.time - b.time || (a.id < b.id ? -1 : 1)))
      .slice(0, page.limit);
  },
});

/** Pages by one column. No entry has the same owner in both, so the pages do not overlap. */
async function pageBy(
  kysely: Database["kysely"],
  column: "org" | "object_org",
  { of, order, after, from = 0, to = Number.MAX_SAFE_INTEGER, limit }: AuditPage,
): Promise<StoredAuditEntry[]> {
  const beyond = sql.raw(order === "asc" ? ">" : "<");
  const rows = await kysely
    .selectFrom("audit")
    .select(["id", ...COLUMNS])
    .where(isOf(of, column))
    .where("time", ">=", from)
    .where("time", "<", to)
    .$if(after !== undefined, (query) =>
      query.where(sql<boolean>`(time, id) ${beyond} (${after?.time}, ${after?.id})`),
    )
    .orderBy("time", order)
    .orderBy("id", order)
    .limit(limit)
    .execute();
  return rows.map(toEntry);
}

const toEntry = <R extends Pick<Selectable<Schema["audit"]>, "action" | "fields">>(row: R) => ({
  ...row,
  action: row.action as AuditAction,
  fields: JSON.parse(row.fields) as string[],
});
