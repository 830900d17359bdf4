// A Report: named groups of (call, location) rows whose statistics are shown together.
import type { Static } from "typebox";
import { defineResource } from "./resource.ts";
import {
  Access,
  EXAMPLE,
  Id,
  LIMITS,
  LocationRef,
  Name,
  NamedMeta,
  readOnly,
  withDefault,
} from "./fields.ts";
import { Type } from "./type.ts";

const Row = Type.Object({ call_id: Id, location_id: LocationRef }, { additionalProperties: false });

const Group = Type.Object(
  {
    name: Name,
    rows: withDefault(Type.Array(Row, { maxItems: LIMITS.rows }), []),
  },
  { additionalProperties: false },
);

const GROUPS = [{ name: "Europe", rows: [{ call_id: EXAMPLE.id, location_id: EXAMPLE.location }] }];

export const ReportSchema = Type.Object(
  {
    id: readOnly(Id),
    meta: NamedMeta,
    access: Access,
    groups: withDefault(Type.Array(Group, { maxItems: LIMITS.groups, examples: [GROUPS] }), []),
  },
  { additionalProperties: false },
);

export type Report = Static<typeof ReportSchema>;
export type ReportRow = Static<typeof Row>;

export const callIdsOf = ({ groups }: Report): string[] => [
  ...new Set(groups.flatMap(({ rows }) => rows.map(({ call_id }) => call_id))),
];

export const reportResource = defineResource({
  kind: "report",
  label: "Report",
  schema: ReportSchema,
  derive: (report) => report,
  sharing: ({ access }) => ({ org: access.org, community: access.public }),
  filters: () => ({}),
  callIds: callIdsOf,
});

/** The report with only the rows that pass `keep`. */
export const withRows = (report: Report, keep: (row: ReportRow) => boolean): Report => ({
  ...report,
  groups: report.groups.map((group) => ({
    ...group,
    rows: group.rows.filter(keep),
  })),
});
