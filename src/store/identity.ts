// Conditions on the owner of a row: the pair of name and organization.
import { sql } from "kysely";
import type { RawBuilder } from "kysely";
import type { Actor } from "../model/access.ts";

/** The columns of owners, by those of their organizations. */
const OWNER = { org: "owner", owner_org: "owner", object_org: "object_owner" } as const;
type OrgColumn = keyof typeof OWNER;

/** In a form that uses an index, even where there is no organization. */
export const isOf = ({ owner, org }: Actor, column: OrgColumn): RawBuilder<boolean> =>
  org === null
    ? sql`(${sql.ref(OWNER[column])} = ${owner} and ${sql.ref(column)} is null)`
    : sql`(${sql.ref(OWNER[column])} = ${owner} and ${sql.ref(column)} = ${org})`;

/** Also true where the row has no organization. */
export const isNotOf = ({ owner, org }: Actor, column: OrgColumn): RawBuilder<boolean> =>
  sql`(${sql.ref(OWNER[column])} <> ${owner} or ${isOutside(org, column)})`;

/** Of another organization, or of none. */
export const isOutside = (org: string | null, column: OrgColumn): RawBuilder<boolean> =>
  sql`${sql.ref(column)} is distinct from ${org}`;
