// Queries of lists of documents, by the access of their reader and by filters.
import { sql } from "kysely";
import type { Kysely, SelectQueryBuilder } from "kysely";
import type { Actor } from "../../model/access.ts";
import type { FilterField, ResourceKind } from "../../model/resource.ts";
import type { Database } from "../database.ts";
import { accessesOf, readableBy } from "../identity.ts";
import type { Filters, Page } from "../records.ts";
import type { Schema } from "../schema.ts";
import { SHOWN } from "./document-rows.ts";
import type { ShownRow } from "./document-rows.ts";

export type Rows = SelectQueryBuilder<Schema, "documents", ShownRow>;

export const matching = (rows: Rows, kind: ResourceKind, filters: Filters): Rows =>
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

/** Orders workspaces by the id of their oldest variable. */
export const workspacesQuery = ({ kysely }: Database, { owner, org }: Actor, page: Page) =>
  kysely
    .selectFrom("documents")
    .select(({ fn }) => [
      fn.min("id").as("id"),
      fn.min<string>("workspace").as("key"),
      fn.countAll<number>().as("variables"),
    ])
    .where("kind", "=", "variable")
    .where((eb) =>
      org === null
        ? eb.and([eb("owner_org", "is", null), eb("owner", "=", owner)])
        : eb("owner_org", "=", org),
    )
    .groupBy("workspace")
    .having(({ fn }) => fn.min("id"), ">", page.after)
    .orderBy(({ fn }) => fn.min("id"))
    .limit(page.limit);

/**
 * Selects what `reader` may read: one index range per kind of access (own, shared with the
 * organization, shared with the community), each limited to the page's size: the cost of a page
 * does not grow with the number of documents.
 */
export function listQuery(
  { kysely }: Database,
  kind: ResourceKind,
  reader: Actor,
  filters: Filters,
  page: Page,
) {
  const ranges = accessesOf(reader).map((access) => {
    const rows = ofKind(kysely, kind, filters, page).where(readableBy(reader, access));
    return kysely.selectFrom(rows.as("readable")).select(SHOWN);
  });
  return ranges
    .reduce((all, range) => all.unionAll(range))
    .orderBy("id")
    .limit(page.limit);
}

/** Selects the sizes of a page of `listQuery`, or of all owners' documents; reads none of them. */
export function sizesQuery(
  { kysely }: Database,
  kind: ResourceKind,
  reader: Actor | null,
  filters: Filters,
  page: Page,
) {
  const sizes = (rows: Rows) =>
    kysely
      .selectFrom(
        rows
          .clearSelect()
          .select(["id", sql<number>`octet_length(document)`.as("bytes")])
          .as("readable"),
      )
      .select(["id", "bytes"]);
  const rows = ofKind(kysely, kind, filters, page);
  const ranges = reader
    ? accessesOf(reader).map((access) => sizes(rows.where(readableBy(reader, access))))
    : [sizes(rows)];
  return ranges
    .reduce((all, range) => all.unionAll(range))
    .orderBy("id")
    .limit(page.limit);
}

/** Selects a page of all owners' documents. */
export const ofKind = (
  kysely: Kysely<Schema>,
  kind: ResourceKind,
  filters: Filters,
  page: Page,
): Rows =>
  matching(
    kysely
      .selectFrom("documents")
      .select(SHOWN)
      .where("kind", "=", kind)
      .where("id", ">", page.after),
    kind,
    filters,
  )
    .orderBy("id")
    .limit(page.limit);
