// Statistics of a report: its rows side by side, and the totals of each group.
import { invalid } from "../../model/errors.ts";
import { Id, LocationRef, Name } from "../../model/fields.ts";
import { formatPeriodTime } from "../../model/instant.ts";
import { reportResource } from "../../model/report.ts";
import { periodsBefore, periodsSince } from "../../model/report-stats.ts";
import { Type } from "../../model/type.ts";
import type { Store } from "../../store/store.ts";
import { defineEndpoint, named } from "../endpoint.ts";
import type { Endpoint, EndpointDeps } from "../endpoint.ts";
import { PageMetaSchema } from "../http/paging.ts";
import type { Position } from "../http/paging.ts";
import { CURSOR, instant, integer, optional } from "../http/parameters.ts";
import type { Values } from "../http/parameters.ts";
import { visible } from "../owned-documents.ts";
import { endOfPage, groupsOf, groupStats, MOST_ENTRIES } from "../report-stats.ts";
import { callNames } from "../shared-calls.ts";
import { KIND, PERIOD_STAT, PeriodTime, TYPE } from "./stat-schemas.ts";

const DEFAULT_PERIODS = 10;

const QUERY = {
  kind: KIND,
  type: TYPE,
  since: instant("the period that contains it and later ones, up to now, oldest first; ISO 8601"),
  before: instant("the period that contains it and earlier ones, newest first (default: now)"),
  limit: optional(
    integer(
      `maximum periods (default: ${DEFAULT_PERIODS}, or that of the cursor)`,
      { minimum: 1, maximum: 1000 },
      DEFAULT_PERIODS,
    ),
  ),
  cursor: CURSOR,
};

const Entries = Type.Array(named("ReportEntry", Type.Object(PERIOD_STAT)), {
  description: "one for each of `meta.periods`, in their order",
});

const AnswerSchema = named(
  "ReportStats",
  Type.Object({
    meta: Type.Object({
      kind: Type.String({ examples: ["DAY"] }),
      report_id: Id,
      name: Name,
      type: Type.String({ examples: ["ALL"] }),
      min_time: PeriodTime,
      max_time: PeriodTime,
      periods: Type.Array(PeriodTime),
      ...PageMetaSchema.properties,
    }),
    groups: Type.Array(
      Type.Object({
        name: Name,
        rows: Type.Array(
          Type.Object({ call_id: Id, name: Name, location_id: LocationRef, stats: Entries }),
        ),
        totals: Entries,
      }),
    ),
  }),
);

export const reportStatEndpoints = ({ store, cursors }: EndpointDeps): Endpoint[] => [
  defineEndpoint({
    operationId: "getReportStats",
    methods: ["GET"],
    path: "/reports/:id/stats/",
    tag: "Reports",
    summary: "Statistics of the rows of a report side by side, with the totals of each group",
    description: `Every row has an entry for each period; \`stat\` is null in one without such calls. A call at a location counts once in the totals of a group that has it twice. A page has whole groups, of at most ${MOST_ENTRIES} rows × periods. Rows of calls whose statistics you may not see are neither shown nor counted.`,
    missing: "Report",
    level: "VIEWER",
    query: QUERY,
    answer: AnswerSchema,
    async handle({ principal, params, query, scope }) {
      const { document: report } = await visible(store, principal, reportResource, params.id);
      const { kind, type, cursor } = query;
      const position = cursors.decode(scope(), cursor);
      const { now, limit, times } = await periodsOf(store, query, position);
      const groups = groupsOf(report, await callNames(store, principal, report));
      const first = Number(position?.[1] ?? 0);
      const end = endOfPage(groups, first, times.length);
      const shown: unknown[] = [];
      for (const group of groups.slice(first, end))
        shown.push(await groupStats({ store, kind, type, times }, group));
      const more = end < groups.length;
      return {
        meta: {
          kind,
          report_id: report.id,
          name: report.meta.name,
          type,
          min_time: formatPeriodTime(Math.min(...times)),
          max_time: formatPeriodTime(Math.max(...times)),
          periods: times.map(formatPeriodTime),
          more,
          next_cursor: more ? cursors.encode(scope(), [now, end, limit]) : "",
        },
        groups: shown,
      };
    },
  }),
];

/** Resolves to the starts of a page's periods: all pages have those of the first. */
async function periodsOf(
  store: Store,
  { kind, since, before, limit: given }: Values<typeof QUERY>,
  position: Position | undefined,
): Promise<{ readonly now: number; readonly limit: number; readonly times: readonly number[] }> {
  if (since !== undefined && before !== undefined)
    throw invalid("since: give either since or before, not both");
  const limit = Number(position?.[2] ?? given ?? DEFAULT_PERIODS);
  if (given !== undefined && given !== limit)
    throw invalid(`limit: ${given} is not that of the cursor, ${limit}`);
  const now = Number(position?.[0] ?? (await store.now()));
  const times =
    since === undefined
      ? periodsBefore(kind, before ?? now, limit)
      : periodsSince(kind, since, limit, now);
  return { now, limit, times };
}
