// Conditions on the owner of a row, the pair of name and organization, and on who may read it.
import { sql } from "kysely";
import type { RawBuilder } from "kysely";
import type { Actor } from "../model/access.ts";

/** The owner column that belongs to each organization column. */
const OWNER = { org: "owner", owner_org: "owner", object_org: "object_owner" } as const;
type OrgColumn = keyof typeof OWNER;

/** True for the owner's rows, in a form that uses an index even without an organization. */
export const isOf = ({ owner, org }: Actor, column: OrgColumn): RawBuilder<boolean> =>
  org === null
    ? sql`(${sql.ref(OWNER[column])} = ${owner} and ${sql.ref(column)} is null)`
    : sql`(${sql.ref(OWNER[column])} = ${owner} and ${sql.ref(column)} = ${org})`;

export type Access = "owner" | "org" | "community";

/** A reader without an organization reads nothing through one. */
export const accessesOf = ({ org }: Actor): readonly Access[] =>
  org === null ? ["owner", "community"] : ["owner", "community", "org"];

/**
 * True for the rows that the reader may read by this access: as the owner, shared with the
 * organization, or shared with the community. No row is in two of these ranges.
 */
export function readableBy(reader: Actor, access: Access): RawBuilder<boolean> {
  if (access === "owner") return isOf(reader, "owner_org");
  const isOutside = sql`owner_org is distinct from ${reader.org}`;
  const others = sql`(owner <> ${reader.owner} or ${isOutside})`;
  // Literals, since the conditions of partial indexes have them.
  if (access === "org") return sql`(${others} and owner_org = ${reader.org} and shared_org = 1)`;
  if (reader.org === null) return sql`(${others} and shared_community = 1)`;
  return sql`(${others} and shared_community = 1 and (shared_org = 0 or ${isOutside}))`;
}
