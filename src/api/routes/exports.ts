// Exports as files: a call's results and statistics, and the statistics of a report's rows.
import { EXAMPLE, Id, LocationRef, Name } from "../../model/fields.ts";
import type { PeriodKind } from "../../model/periods.ts";
import { reportResource } from "../../model/report.ts";
import type { Report } from "../../model/report.ts";
import { codesOfType } from "../../model/stat.ts";
import { columnsOf } from "../../model/csv.ts";
import { Type } from "../../model/type.ts";
import type { Store } from "../../store/store.ts";
import { exportedEntries, exportedPeriods, exportedResults } from "../exported-rows.ts";
import type { Range } from "../exported-rows.ts";
import { FORMAT, mediaOf } from "../exports.ts";
import type { Pace } from "../exports.ts";
import { defineEndpoint, named } from "../endpoint.ts";
import type { Endpoint, EndpointDeps } from "../endpoint.ts";
import { assertRange, bound, exactInstant } from "../http/parameters.ts";
import { visible } from "../owned-documents.ts";
import { LOCATION_FILTER, locationToFilter } from "../requested-location.ts";
import { filterOf, RESULT_FILTERS } from "../result-lists.ts";
import { callNames, callSharing } from "../shared-calls.ts";
import { ListedResultSchema, withoutRequest } from "./results.ts";
import { KIND, KIND_OR_RAW, STAT_ENTRY, StatEntrySchema, RawSchema, TYPE } from "./stat-schemas.ts";
import { rawStat, statEntry } from "./stats.ts";

const RESULT_COLUMNS = columnsOf(ListedResultSchema);
const STAT_COLUMNS = columnsOf(StatEntrySchema);
const RAW_COLUMNS = columnsOf(RawSchema);

const ReportStatSchema = named(
  "ReportStat",
  Type.Object({ group: Name, call_id: Id, name: Name, location_id: LocationRef, ...STAT_ENTRY }),
);
const REPORT_COLUMNS = columnsOf(ReportStatSchema);

const PERIODS = {
  format: FORMAT,
  from: exactInstant(
    "only from the period that contains it on; ISO 8601, UTC when it has no offset",
  ),
  to: bound("only periods that begin before this time, which is excluded; as `from`"),
  type: TYPE,
};

const HOW =
  "Streamed as it is read; a failure breaks the connection, and so does revoking the key or ending the session. Each owner may run two exports at a time.";

const FILE_NAME = {
  "Content-Disposition": {
    description: "the file's name: what it holds, of which object, and its format",
    example: `attachment; filename="results-${EXAMPLE.id}.csv"`,
  },
};

export const exportEndpoints = (deps: EndpointDeps): Endpoint[] => [
  resultExport(deps),
  statExport(deps),
  reportExport(deps),
];

const resultExport = ({ store, exports }: EndpointDeps): Endpoint =>
  defineEndpoint({
    operationId: "exportResults",
    methods: ["GET"],
    path: "/calls/:id/results/export",
    tag: "Results",
    summary: "Export the recorded results of an API Call",
    description: `In the order of their times, without runs that have not ended. Filters combine. ${HOW} Open to those who may see the call's results.`,
    missing: "API Call",
    level: "VIEWER",
    query: { format: FORMAT, ...RESULT_FILTERS },
    answer: ListedResultSchema,
    headers: FILE_NAME,
    media: mediaOf(ListedResultSchema, RESULT_COLUMNS),
    async handle({ principal, session, params, query }) {
      const call = await callSharing("results", store, principal, params.id);
      const filter = await filterOf(store, query);
      return exports.stream({
        principal,
        session,
        format: query.format,
        name: `results-${call.id}`,
        columns: RESULT_COLUMNS,
        async *pages(pace) {
          for await (const page of exportedResults(store, call.id, filter, pace))
            yield page.map(withoutRequest);
        },
      });
    },
  });

const statExport = ({ store, exports }: EndpointDeps): Endpoint =>
  defineEndpoint({
    operationId: "exportStats",
    methods: ["GET"],
    path: "/calls/:id/stats/export",
    tag: "Statistics",
    summary: "Export the statistics of an API Call",
    description: `Oldest first, only periods with such calls; with \`kind=RAW\`, single calls between \`from\` and \`to\`. ${HOW} Open to those who may see the call's statistics.`,
    missing: "API Call",
    level: "VIEWER",
    query: {
      ...PERIODS,
      kind: KIND_OR_RAW,
      location_id: LOCATION_FILTER,
    },
    answer: Type.Union([StatEntrySchema, RawSchema]),
    headers: FILE_NAME,
    media: mediaOf(Type.Union([StatEntrySchema, RawSchema]), STAT_COLUMNS),
    async handle({ principal, session, params, query }) {
      const { format, kind, type, ...range } = query;
      const call = await callSharing("stats", store, principal, params.id);
      assertRange(range);
      const location_id = await locationToFilter(store, query.location_id);
      const of = { call_id: call.id, location_id };
      return exports.stream({
        principal,
        session,
        format,
        name: `stats-${call.id}`,
        columns: kind === "RAW" ? RAW_COLUMNS : STAT_COLUMNS,
        async *pages(pace) {
          if (kind === "RAW") {
            const subject = { ...of, codes: codesOfType(type) };
            const from = range.from && Math.ceil(range.from);
            const within = { ...range, from };
            for await (const page of exportedEntries(store, subject, within, "forwards", pace))
              yield page.map(rawStat);
          } else
            for await (const page of exportedPeriods(store, { ...of, kind }, type, range, pace))
              yield page.map((row) => statEntry(row, type));
        },
      });
    },
  });

const reportExport = ({ store, exports }: EndpointDeps): Endpoint =>
  defineEndpoint({
    operationId: "exportReport",
    methods: ["GET"],
    path: "/reports/:id/export",
    tag: "Reports",
    summary: "Export the statistics of the rows of a report",
    description: `Row by row, oldest first, only periods with such calls, and only rows of calls whose statistics you may see. ${HOW}`,
    missing: "Report",
    level: "VIEWER",
    query: { ...PERIODS, kind: KIND },
    answer: ReportStatSchema,
    headers: FILE_NAME,
    media: mediaOf(ReportStatSchema, REPORT_COLUMNS),
    async handle({ principal, session, params, query }) {
      const { document: report } = await visible(store, principal, reportResource, params.id);
      assertRange(query);
      return exports.stream({
        principal,
        session,
        format: query.format,
        name: `report-${report.id}`,
        columns: REPORT_COLUMNS,
        async *pages(pace) {
          const names = await callNames(store, principal, report);
          yield* reportRows(store, report, names, query, pace);
        },
      });
    },
  });

interface ReportQuery extends Range {
  readonly kind: PeriodKind;
  readonly type: string;
}

/** Yields only the rows of calls in `names`. */
async function* reportRows(
  store: Store,
  { groups }: Report,
  names: ReadonlyMap<string, string>,
  { kind, type, ...range }: ReportQuery,
  pace: Pace,
): AsyncGenerator<readonly object[]> {
  for (const { name: group, rows } of groups)
    for (const { call_id, location_id } of rows) {
      const name = names.get(call_id);
      if (name === undefined) continue;
      const of = { call_id, location_id, kind };
      for await (const page of exportedPeriods(store, of, type, range, pace))
        yield page.map((row) => ({ group, call_id, name, location_id, ...statEntry(row, type) }));
    }
}
