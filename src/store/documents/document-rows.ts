// Documents as rows, and the queries that get and insert one.
import type { Selectable } from "kysely";
import type { ResourceKind } from "../../model/resource.ts";
import { AT_ONCE } from "../../model/token-renewal.ts";
import { prepared } from "../prepared.ts";
import type { NewDocument, StoredDocument } from "../records.ts";
import type { Schema } from "../schema.ts";

export type Row = Selectable<Schema["documents"]>;

/** Those of a `StoredDocument`. */
export const SHOWN = [
  "id",
  "kind",
  "owner",
  "owner_org",
  "shared_org",
  "shared_community",
  "document",
] as const;

export type ShownRow = Pick<Row, (typeof SHOWN)[number]>;

export const byId = prepared(["kind", "id"], (kysely, { kind, id }) =>
  kysely.selectFrom("documents").select(SHOWN).where("kind", "=", kind).where("id", "=", id),
);

const COLUMNS = [
  ...SHOWN,
  "domain",
  "auth_id",
  "token_id",
  "target_id",
  "workspace",
  "name",
  "renewal_time",
] as const;

/** Does nothing if there is already one with this id, or with this name in its workspace. */
export const insertIfNew = prepared(COLUMNS, (kysely, row) =>
  kysely
    .insertInto("documents")
    .values(row)
    .onConflict((conflict) => conflict.doNothing()),
);

export const toRow = ({
  id,
  kind,
  owner,
  owner_org,
  org,
  community,
  filters,
  document,
}: NewDocument): Omit<Row, "renewal_claim" | "renewal_asked"> => ({
  id,
  kind,
  owner,
  owner_org,
  shared_org: Number(org),
  shared_community: Number(community),
  domain: filters.domain ?? null,
  auth_id: filters.auth_id ?? null,
  token_id: filters.token_id ?? null,
  target_id: filters.target_id ?? null,
  workspace: filters.workspace ?? null,
  name: filters.name ?? null,
  renewal_time: kind === "token" ? AT_ONCE : null,
  document: JSON.stringify(document),
});

export const toStoredDocument = (row: ShownRow): StoredDocument => ({
  id: row.id,
  kind: row.kind as ResourceKind,
  owner: row.owner,
  owner_org: row.owner_org,
  org: row.shared_org === 1,
  community: row.shared_community === 1,
  document: JSON.parse(row.document),
});
