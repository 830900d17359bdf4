// Reports. Readers see only the rows of calls whose statistics they may see.
import { invalid } from "../../model/errors.ts";
import { callIdsOf, reportResource, withRows } from "../../model/report.ts";
import type { Report, ReportRow } from "../../model/report.ts";
import { show, summarizeFaults } from "../../model/validate.ts";
import { getEndpoint, listEndpoint, writeEndpoints } from "../crud.ts";
import type { Endpoint, EndpointDeps } from "../endpoint.ts";
import type { Change, DocumentHooks } from "../owned-documents.ts";
import { callsSharing } from "../shared-calls.ts";
import { chooseLocation, knownLocations } from "../requested-location.ts";

export function reportEndpoints(deps: EndpointDeps): Endpoint[] {
  const reports = {
    deps,
    resource: reportResource,
    hooks,
    path: "/reports/",
    tag: "Reports",
    noun: "Report",
    one: "a Report",
  };
  return [...writeEndpoints(reports), getEndpoint(reports), listEndpoint(reports)];
}

const hooks: DocumentHooks<Report> = {
  prepare: withKnownRows,

  async shown(store, reader, found) {
    const callIds = found.flatMap(({ document }) => callIdsOf(document));
    const open = await callsSharing("stats", store, reader, callIds);
    return found.map(({ document }) => withRows(document, ({ call_id }) => open.has(call_id)));
  },
};

/**
 * Resolves every location to its id, and keeps rows that the caller cannot see. Throws `invalid`
 * for unknown locations, and for calls that are new to the report and whose statistics the caller
 * may not see.
 */
async function withKnownRows(
  { store, principal }: Change,
  report: Report,
  before?: Report,
): Promise<Report> {
  const named = new Set(before && callIdsOf(before));
  const open = await callsSharing("stats", store, principal, [...named, ...callIdsOf(report)]);
  const locations = await knownLocations(store);
  const rowsBefore = new Set(before?.groups.flatMap(({ rows }) => rows.map(keyOf)));
  const faults: string[] = [];
  const groups = report.groups.map((group, g) => ({
    ...group,
    rows: group.rows.map((row, r) => {
      const place = `groups[${g}].rows[${r}]`;
      const { call_id } = row;
      if (!named.has(call_id) && !open.has(call_id))
        faults.push(
          `${place}.call_id: ${show(call_id)} is not an API Call whose statistics you may see`,
        );
      // A row stays when its location is removed, like its results.
      if (rowsBefore.has(keyOf(row))) return row;
      const location = chooseLocation(locations, `${place}.location_id`, row.location_id);
      if ("id" in location) return { ...row, location_id: location.id };
      faults.push(location.fault);
      return row;
    }),
  }));
  if (faults.length > 0) throw invalid(summarizeFaults(faults));
  const hidden = before && withRows(before, ({ call_id }) => !open.has(call_id));
  return { ...report, groups: hidden ? withHiddenRows(groups, hidden.groups) : groups };
}

type Groups = Report["groups"];

/**
 * A hidden row stays in the group of its name, or else of its place, until that is removed. Groups
 * with the same name are matched in their stored order.
 */
function withHiddenRows(groups: Groups, hidden: Groups): Groups {
  const left = Map.groupBy(hidden, ({ name }) => name);
  const named = groups.map(({ name }) => left.get(name)?.shift());
  return groups.map(({ name, rows }, g) => {
    const before = named[g] ?? hidden.find((group, at) => at === g && !named.includes(group));
    const present = new Set(rows.map(keyOf));
    const kept = before?.rows.filter((row) => !present.has(keyOf(row))) ?? [];
    return { name, rows: [...rows, ...kept] };
  });
}

const keyOf = ({ call_id, location_id }: ReportRow): string => `${call_id}/${location_id}`;
