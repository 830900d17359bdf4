// Conditions on whose a row is: the pair of owner and organization.
import { sql } from "kysely";
import type { RawBuilder } from "kysely";
import type { Actor } from "../model/access.ts";

type OrgColumn = "org" | "owner_org";

/** In a form that finds an index, also where there is no organization. */
export const isOf = ({ owner, org }: Actor, column: OrgColumn): RawBuilder<boolean> =>
  org === null
    ? sql`(owner = ${owner} and ${sql.ref(column)} is null)`
    : sql`(owner = ${owner} and ${sql.ref(column)} = ${org})`;

/** Also true where the row has no organization. */
export const isNotOf = ({ owner, org }: Actor, column: OrgColumn): RawBuilder<boolean> =>
  sql`(owner <> ${owner} or ${isOutside(org, column)})`;

/** Of another organization, or of none. */
export const isOutside = (org: string | null, column: OrgColumn): RawBuilder<boolean> =>
  sql`${sql.ref(column)} is distinct from ${org}`;
