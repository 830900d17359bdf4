// Stores owned resources as JSON documents, next to the few columns that queries need.
import { sql } from "kysely";
import type { Actor } from "../../model/access.ts";
import { chunksOf } from "../../model/chunks.ts";
import { unreadable } from "../../model/errors.ts";
import type { ResourceKind } from "../../model/resource.ts";
import type { Sealer } from "../../runtime/sealer.ts";
import type { Database } from "../database.ts";
import { countAll, isAmong, ROWS_AT_ONCE } from "../database.ts";
import { listQuery, matching, ofKind, sizesQuery, workspacesQuery } from "./document-lists.ts";
import type { Rows } from "./document-lists.ts";
import { byId, insertIfNew, SHOWN, toRow, toStoredDocument } from "./document-rows.ts";
import type { ShownRow } from "./document-rows.ts";
import { isOf } from "../identity.ts";
import { removeInsights, shareInsights } from "../insights/insight-sharing.ts";
import type {
  Documents,
  Filters,
  NewDocument,
  Page,
  StoredDocument,
  StoredVariable,
} from "../records.ts";
import { DUE_WHEN_WRITTEN, renewTokensOf } from "./renewals.ts";
import { countInserted, countReplaced } from "./usage.ts";
import { openDocument, sealDocument, SEALED_KINDS } from "./sealed-documents.ts";
import { registerKey } from "../sealing-keys.ts";

/** Seals secret fields on the way in and opens them on the way out. */
export interface Sealing {
  readonly sealer: Sealer;
  /** Called for each document read whose secrets cannot be opened. */
  readonly onUnreadable: (found: StoredDocument) => void;
}

export function createDocumentStore(database: Database, sealing: Sealing) {
  const rowsOf = (kind: ResourceKind): Rows =>
    database.kysely.selectFrom("documents").select(SHOWN).where("kind", "=", kind);
  const all = async (query: Executable): Promise<StoredDocument[]> =>
    opened(await query.execute(), sealing);
  const one = async (query: Rows): Promise<StoredDocument | undefined> => (await all(query))[0];

  return {
    /** Returns false if one exists with this id, or with this name in its workspace. */
    insert: async (document: NewDocument): Promise<boolean> =>
      insertDocument(database, await sealed(database, document, sealing)),
    /** Locks the row until the end of the transaction: concurrent updates queue. */
    getForUpdate(kind: ResourceKind, id: string): Promise<StoredDocument | undefined> {
      const row = rowsOf(kind).where("id", "=", id);
      return one(database.rowLocks ? row.forUpdate() : row);
    },
    async get(kind: ResourceKind, id: string): Promise<StoredDocument | undefined> {
      const { rows } = await byId(database.kysely, { kind, id });
      return (await opened(rows, sealing))[0];
    },
    /** Returns the documents that exist, in creation order; ids may be repeated. */
    async getMany(kind: ResourceKind, ids: readonly string[]): Promise<Documents> {
      if (ids.length === 0) return new Map();
      const rows = database.kysely.selectFrom("documents").select(SHOWN);
      const among = rows.where(isAmong(database, "id", [...new Set(ids)]));
      // The kind is checked afterwards: SQLite would search by it rather than by the ids.
      const found = (await all(among.orderBy("id"))).filter((each) => each.kind === kind);
      return new Map(found.map((stored) => [stored.id, stored]));
    },
    /** The sizes of those of the documents that are larger than `above`; in bytes, as stored. */
    sizes: (ids: readonly string[], above: number) => sizesOf(database, ids, above),
    /** Returns those of the variables that the workspace with this key has; reads no value. */
    variablesIn: (key: string, names: readonly string[]) => variablesIn(database, key, names),
    /**
     * Overwrites the stored document, whose row the caller has locked and found readable. Rejects
     * a document that was itself read as `unreadable`.
     */
    replace: async (document: NewDocument): Promise<void> =>
      replaceDocument(database, await sealed(database, document, sealing)),
    /** Returns false if there is no such document, or another transaction has removed it. */
    remove: (kind: ResourceKind, id: string) => removeDocument(database, kind, id),
    /** Lists the documents that `reader` may read. Uses an index on either database. */
    list: (kind: ResourceKind, reader: Actor, filters: Filters, page: Page) =>
      all(listQuery(database, kind, reader, filters, page)),
    /** Returns how many documents of the page, one at least, have at most `maxBytes` together. */
    fitting: (kind: ResourceKind, reader: Actor | null, page: FilteredPage, maxBytes: number) =>
      countFitting(sizesQuery(database, kind, reader, page.filters ?? {}, page), maxBytes),
    /** Lists the documents of all owners. */
    listKind: (kind: ResourceKind, page: Page, filters: Filters = {}) =>
      all(ofKind(database.kysely, kind, filters, page)),
    /** Yields the ids of all owners' documents that match; some may be gone by then. */
    ids: (kind: ResourceKind, filters: Filters) => idsOf(database, kind, filters),
    /** Lists the workspaces with variables of the reader's organization, or else of the reader. */
    listWorkspaces: (reader: Actor, page: Page) =>
      workspacesQuery(database, reader, page).execute(),
    /** Counts the documents with these filter values that belong to `owner`. */
    count: (kind: ResourceKind, filters: Filters, owner: Actor): Promise<number> =>
      countAll(matching(rowsOf(kind), kind, filters).where(isOf(owner, "owner_org"))),
  };
}

async function sizesOf(
  database: Database,
  ids: readonly string[],
  above: number,
): Promise<ReadonlyMap<string, number>> {
  const bytes = sql<number>`octet_length(document)`;
  const sizes = database.kysely.selectFrom("documents").select(["id", bytes.as("bytes")]);
  const found = sizes.where(isAmong(database, "id", ids)).where(bytes, ">", above);
  return new Map((await found.execute()).map((row) => [row.id, row.bytes]));
}

const IDS_AT_ONCE = 500;

async function* idsOf(
  { kysely }: Database,
  kind: ResourceKind,
  filters: Filters,
): AsyncGenerator<string> {
  let after: string | undefined = "";
  while (after !== undefined) {
    const page = ofKind(kysely, kind, filters, { after, limit: IDS_AT_ONCE });
    const ids = (await page.clearSelect().select("id").execute()).map(({ id }) => id);
    yield* ids;
    after = ids[IDS_AT_ONCE - 1];
  }
}

const variablesIn = (
  database: Database,
  key: string,
  names: readonly string[],
): Promise<StoredVariable[]> =>
  database.kysely
    .selectFrom("documents")
    .select(["id", sql<string>`name`.as("name"), sql<number>`octet_length(document)`.as("bytes")])
    .where("workspace", "=", key)
    .where(isAmong(database, "name", names))
    .execute();

interface FilteredPage extends Page {
  readonly filters?: Filters;
}

async function countFitting(
  sizes: ReturnType<typeof sizesQuery>,
  maxBytes: number,
): Promise<number> {
  let [bytes, count] = [0, 0];
  for (const size of await sizes.execute()) {
    bytes += size.bytes;
    if (count > 0 && bytes > maxBytes) break;
    count += 1;
  }
  return Math.max(1, count);
}

interface Executable {
  execute(): Promise<ShownRow[]>;
}

async function sealed(
  database: Database,
  document: NewDocument,
  { sealer }: Sealing,
): Promise<NewDocument> {
  const { kind, unreadable: cause } = document;
  if (cause) throw unreadable(`this ${kind}`, { cause });
  if (!SEALED_KINDS.includes(kind)) return document;
  const made = await sealDocument(document, sealer);
  if (made !== document) await registerKey(database, sealer); // it has secrets
  return made;
}

/** Opens sealed documents. Kinds without secret fields are not sealed, and cost nothing here. */
async function opened(rows: readonly ShownRow[], sealing: Sealing): Promise<StoredDocument[]> {
  const found = rows.map(toStoredDocument);
  if (!found.some(({ kind }) => SEALED_KINDS.includes(kind))) return found;
  return Promise.all(
    found.map(async (stored) => {
      const document = await openDocument(stored, sealing.sealer);
      if (document.unreadable) sealing.onUnreadable(document);
      return document;
    }),
  );
}

async function insertDocument(database: Database, document: NewDocument): Promise<boolean> {
  const row = toRow(document);
  const { numAffectedRows = 0n } = await insertIfNew(database.kysely, row);
  if (numAffectedRows === 0n) return false;
  await countInserted(database.kysely, row, row.document);
  await insertCallIds(database, document);
  return true;
}

async function replaceDocument(database: Database, document: NewDocument): Promise<void> {
  const { id, kind, ...columns } = toRow(document);
  await countReplaced(database, id, columns.document);
  await database.kysely
    .updateTable("documents")
    .set({ ...columns, ...(kind === "token" && { renewal_time: DUE_WHEN_WRITTEN }) })
    .where("id", "=", id)
    .where("kind", "=", kind)
    .execute();
  if (kind === "auth_setting") await renewTokensOf(database, id);
  if (kind === "call") await shareInsights(database, document);
  if (document.callIds === undefined) return;
  await removeCallIds(database, id);
  await insertCallIds(database, document);
}

async function removeDocument(
  database: Database,
  kind: ResourceKind,
  id: string,
): Promise<boolean> {
  await removeCallIds(database, id);
  await countReplaced(database, id);
  if (kind === "call") await removeInsights(database, id);
  const documents = database.kysely.deleteFrom("documents");
  const found = documents.where("kind", "=", kind).where("id", "=", id);
  return (await found.executeTakeFirstOrThrow()).numDeletedRows > 0n;
}

async function insertCallIds(
  { kysely }: Database,
  { id, kind, callIds = [] }: NewDocument,
): Promise<void> {
  for (const chunk of chunksOf([...new Set(callIds)], ROWS_AT_ONCE))
    await kysely
      .insertInto("document_calls")
      .values(chunk.map((call_id) => ({ call_id, kind, document_id: id })))
      .execute();
}

async function removeCallIds({ kysely }: Database, id: string): Promise<void> {
  await kysely.deleteFrom("document_calls").where("document_id", "=", id).execute();
}
