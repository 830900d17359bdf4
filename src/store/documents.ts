// Owned resources as JSON documents, beside the few columns that queries need.
import type { Selectable } from "kysely";
import type { Principal } from "../model/access.ts";
import type { FilterField, ResourceKind } from "../model/resource.ts";
import type { Database } from "./database.ts";
import { chunksOf } from "./database.ts";
import type { Schema } from "./schema.ts";
import type {
  DocumentStore,
  NewDocument,
  Page,
  StoredDocument,
} from "./ports/document-store.ts";

type Row = Selectable<Schema["documents"]>;
type Filters = Partial<Record<FilterField, string>>;

export function createDocumentStore(database: Database): DocumentStore {
  const { kysely } = database;
  const rowsOf = (kind: ResourceKind) =>
    kysely.selectFrom("documents").selectAll().where("kind", "=", kind);

  return {
    async insert(document) {
      await kysely.insertInto("documents").values(toRow(document)).execute();
    },
    async get(kind, id) {
      const row = await rowsOf(kind).where("id", "=", id).executeTakeFirst();
      return row && fromRow(row);
    },
    async getForUpdate(kind, id) {
      const query = rowsOf(kind).where("id", "=", id);
      const row = await (
        database.rowLocks ? query.forUpdate() : query
      ).executeTakeFirst();
      return row && fromRow(row);
    },
    async getMany(kind, ids) {
      const found: StoredDocument[] = [];
      for (const chunk of chunksOf(ids)) {
        const rows = await rowsOf(kind).where("id", "in", chunk).execute();
        found.push(...rows.map(fromRow));
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
    },
    async remove(kind, id) {
      await kysely
        .deleteFrom("documents")
        .where("kind", "=", kind)
        .where("id", "=", id)
        .execute();
    },
    async list(kind, reader, filters, page) {
      return (
        await listQuery(database, kind, reader, filters, page).execute()
      ).map(fromRow);
    },
    async listAll(kind, filter, value) {
      return (
        await rowsOf(kind).where(filter, "=", value).orderBy("id").execute()
      ).map(fromRow);
    },
  };
}

/**
 * What `reader` may read: one index range for each way to come by it (own, shared with the organization, shared with
 * the community), each cut at the page's size, so that a page costs the same however much there is.
 */
export function listQuery(
  database: Database,
  kind: ResourceKind,
  reader: Principal,
  filters: Filters,
  page: Page,
) {
  const range = (way: "owner" | "org" | "community") => {
    let query = database.kysely
      .selectFrom("documents")
      .selectAll()
      .where("kind", "=", kind)
      .where("id", ">", page.after);
    for (const [field, value] of Object.entries(filters) as [
      FilterField,
      string,
    ][])
      query = query.where(field, "=", value);
    if (way === "owner") query = query.where("owner", "=", reader.owner);
    else query = query.where("owner", "<>", reader.owner);
    if (way === "org")
      query = query
        .where("owner_org", "=", reader.org)
        .where("shared_org", "=", 1);
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
  ...identity
}: NewDocument): Row {
  return {
    ...identity,
    shared_org: Number(org),
    shared_community: Number(community),
    domain: filters.domain ?? null,
    auth_id: filters.auth_id ?? null,
    target_id: filters.target_id ?? null,
    document: JSON.stringify(document),
  };
}

const fromRow = (row: Row): StoredDocument => ({
  id: row.id,
  kind: row.kind as ResourceKind,
  owner: row.owner,
  owner_org: row.owner_org,
  org: row.shared_org === 1,
  community: row.shared_community === 1,
  document: JSON.parse(row.document),
});
