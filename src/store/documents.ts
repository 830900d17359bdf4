// Owned resources as JSON documents, beside the few columns that queries need.
import type { SelectQueryBuilder, Selectable } from "kysely";
import type { Principal } from "../model/access.ts";
import type { FilterField, ResourceKind } from "../model/resource.ts";
import type { Database } from "./database.ts";
import { chunksOf } from "./database.ts";
import { lookAtTokensOf } from "./renewals.ts";
import type { Schema } from "./schema.ts";
import { AT_ONCE } from "./ports/renewal-store.ts";
import type {
  DocumentStore,
  Filters,
  NewDocument,
  Page,
  StoredDocument,
} from "./ports/document-store.ts";

type Row = Selectable<Schema["documents"]>;

export function createDocumentStore(database: Database): DocumentStore {
  const { kysely } = database;
  const rowsOf = (kind: ResourceKind) =>
    kysely.selectFrom("documents").selectAll().where("kind", "=", kind);

  return {
    async insert(document) {
      const { numInsertedOrUpdatedRows } = await kysely
        .insertInto("documents")
        .values(toRow(document))
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow();
      const isNew = (numInsertedOrUpdatedRows ?? 0n) > 0n;
      if (isNew) await insertCallIds(database, document);
      return isNew;
    },
    async get(kind, id) {
      const row = await rowsOf(kind).where("id", "=", id).executeTakeFirst();
      return row && toStoredDocument(row);
    },
    async getForUpdate(kind, id) {
      const query = rowsOf(kind).where("id", "=", id);
      const row = await (database.rowLocks ? query.forUpdate() : query).executeTakeFirst();
      return row && toStoredDocument(row);
    },
    async getMany(kind, ids) {
      const found: StoredDocument[] = [];
      for (const chunk of chunksOf(ids.toSorted())) {
        const rows = await rowsOf(kind).where("id", "in", chunk).orderBy("id").execute();
        found.push(...rows.map(toStoredDocument));
      }
      return found;
    },
    async replace(document) {
      const { id, kind, ...columns } = toRow(document);
      await kysely
        .updateTable("documents")
        .set(columns)
        .where("id", "=", id)
        .where("kind", "=", kind)
        .execute();
      await lookAtTokensOf(database, document);
      if (document.callIds === undefined) return;
      await removeCallIds(database, id);
      await insertCallIds(database, document);
    },
    async remove(kind, id) {
      await removeCallIds(database, id);
      await kysely.deleteFrom("documents").where("kind", "=", kind).where("id", "=", id).execute();
    },
    async list(kind, reader, filters, page) {
      return (await listQuery(database, kind, reader, filters, page).execute()).map(
        toStoredDocument,
      );
    },
    async listKind(kind, { after, limit }) {
      const query = rowsOf(kind).where("id", ">", after);
      const rows = await query.orderBy("id").limit(limit).execute();
      return rows.map(toStoredDocument);
    },
    async listAll(kind, filter, value) {
      const rows = await matching(rowsOf(kind), kind, { [filter]: value })
        .orderBy("id")
        .execute();
      return rows.map(toStoredDocument);
    },
    async count(kind, filter, value) {
      const { count } = await matching(rowsOf(kind), kind, { [filter]: value })
        .clearSelect()
        .select((eb) => eb.fn.countAll<number>().as("count"))
        .executeTakeFirstOrThrow();
      return count;
    },
  };
}

type Rows = SelectQueryBuilder<Schema, "documents", Row>;

const matching = (rows: Rows, kind: ResourceKind, filters: Filters): Rows =>
  Object.entries(filters).reduce(
    (matched, [field, value]) =>
      field === "call_id"
        ? matched.where("id", "in", (eb) =>
            eb
              .selectFrom("document_calls")
              .select("document_id")
              .where("kind", "=", kind)
              .where("call_id", "=", value),
          )
        : matched.where(field as FilterField, "=", value),
    rows,
  );

async function insertCallIds(
  { kysely }: Database,
  { id, kind, callIds = [] }: NewDocument,
): Promise<void> {
  for (const chunk of chunksOf([...new Set(callIds)]))
    await kysely
      .insertInto("document_calls")
      .values(chunk.map((call_id) => ({ call_id, kind, document_id: id })))
      .execute();
}

async function removeCallIds({ kysely }: Database, id: string): Promise<void> {
  await kysely.deleteFrom("document_calls").where("document_id", "=", id).execute();
}

/**
 * What `reader` may read: one index range for each way to come by it (own, shared with the
 * organization, shared with the community), each cut at the page's size, so that a page costs the
 * same however much there is.
 */
export function listQuery(
  database: Database,
  kind: ResourceKind,
  reader: Principal,
  filters: Filters,
  page: Page,
) {
  const range = (way: "owner" | "org" | "community") => {
    const rows = database.kysely
      .selectFrom("documents")
      .selectAll()
      .where("kind", "=", kind)
      .where("id", ">", page.after);
    let query = matching(rows, kind, filters);
    if (way === "owner") query = query.where("owner", "=", reader.owner);
    else query = query.where("owner", "<>", reader.owner);
    if (way === "org")
      query = query.where("owner_org", "=", reader.org).where("shared_org", "=", 1);
    if (way === "community") query = query.where("shared_community", "=", 1);
    // Rows that the organization shares as well come by that way, once.
    if (way === "community" && reader.org !== null)
      query = query.where((eb) =>
        eb.or([
          eb("shared_org", "=", 0),
          eb("owner_org", "is", null),
          eb("owner_org", "<>", reader.org),
        ]),
      );
    const ordered = query.orderBy("id").limit(page.limit);
    return database.kysely.selectFrom(ordered.as("readable")).selectAll();
  };
  const own = range("owner").unionAll(range("community"));
  const readable = reader.org === null ? own : own.unionAll(range("org"));
  return readable.orderBy("id").limit(page.limit);
}

function toRow({
  document,
  org,
  community,
  filters,
  callIds: _callIds,
  ...identity
}: NewDocument): Omit<Row, "renewal_claim"> {
  return {
    ...identity,
    shared_org: Number(org),
    shared_community: Number(community),
    domain: filters.domain ?? null,
    auth_id: filters.auth_id ?? null,
    token_id: filters.token_id ?? null,
    target_id: filters.target_id ?? null,
    workspace: filters.workspace ?? null,
    name: filters.name ?? null,
    renewal_time: identity.kind === "token" ? AT_ONCE : null,
    document: JSON.stringify(document),
  };
}

const toStoredDocument = (row: Row): StoredDocument => ({
  id: row.id,
  kind: row.kind as ResourceKind,
  owner: row.owner,
  owner_org: row.owner_org,
  org: row.shared_org === 1,
  community: row.shared_community === 1,
  document: JSON.parse(row.document),
});
