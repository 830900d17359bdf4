// Conditions on the owner of a row: the pair of name and organization.
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

/** True for the rows of other owners, also if the row has no organization. */
export const isNotOf = ({ owner, org }: Actor, column: OrgColumn): RawBuilder<boolean> =>
  sql`(${sql.ref(OWNER[column])} <> ${owner} or ${isOutside(org, column)})`;

/** True for rows whose organization is not `org`; null counts as a value of its own. */
export const isOutside = (org: string | null, column: OrgColumn): RawBuilder<boolean> =>
  sql`${sql.ref(column)} is distinct from ${org}`;
