// Lists of the results of calls and workflows: their order and filters, and the pending runs.
import { CATEGORY_FILTERS, categoryOf, RESULT_CODES } from "../model/result.ts";
import type { ResultCode } from "../model/result.ts";
import { codesOfType, STAT_TYPES } from "../model/stat.ts";
import type { PendingRun, ResultPage } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import type { EndpointDeps } from "./endpoint.ts";
import { listPage } from "./http/paging.ts";
import type { List, ListRequest } from "./http/paging.ts";
import { assertRange, bound, choice, LIST_PAGING, optional } from "./http/parameters.ts";
import type { Values } from "./http/parameters.ts";
import { LOCATION_FILTER, locationToFilter } from "./requested-location.ts";

export const RESULT_FILTERS = {
  order: choice("oldest (asc) or newest (desc) first", ["asc", "desc"], "asc"),
  type: optional(
    choice("only this result; ALL: of every call made (default: no filter)", STAT_TYPES, "ALL"),
  ),
  category: optional(
    choice(
      "only this category; NONE: results without one (default: no filter)",
      CATEGORY_FILTERS,
      "FAIL",
    ),
  ),
  location_id: LOCATION_FILTER,
  from: bound(
    "only results of this time or later: when the call started, or was due if it was not made; ISO 8601, UTC when it has no offset",
  ),
  to: bound("only results before this time, which is excluded; as `from`"),
};

export const RESULT_LIST = { ...LIST_PAGING, ...RESULT_FILTERS };

type Query = Values<typeof RESULT_LIST>;

export type ResultFilter = Omit<ResultPage, "after" | "limit">;

export interface ListedRuns<R> {
  readonly targetId: string;
  readonly recorded: (page: ResultPage) => Promise<R[]>;
  readonly queued: (run: PendingRun) => R;
}

/**
 * Resolves to a page of a target's results, with runs without an outcome as QUEUED. Reads pending
 * runs first: a run that ends meanwhile is read twice, never missed.
 */
export async function listResults<R extends { readonly id: string }>(
  { store, cursors }: Pick<EndpointDeps, "store" | "cursors">,
  request: ListRequest & { readonly query: Query },
  { targetId, recorded, queued }: ListedRuns<R>,
): Promise<List<R>> {
  const filter = await filterOf(store, request.query);
  return listPage(cursors, request, async (rows) => {
    const page = { ...rows, ...filter };
    const pending = await store.pendingRuns.listOfTarget(targetId, page);
    const results = await recorded(page);
    const known = new Set(results.map(({ id }) => id));
    const sign = page.order === "asc" ? 1 : -1;
    return pending
      .filter(({ result_id }) => !known.has(result_id))
      .map(queued)
      .concat(results)
      .sort((a, b) => (a.id < b.id ? -sign : sign))
      .slice(0, page.limit);
  });
}

/** Throws `invalid`. */
export async function filterOf(
  store: Store,
  query: Values<typeof RESULT_FILTERS>,
): Promise<ResultFilter> {
  const { order, type, category, from, to } = query;
  assertRange(query);
  const location_id = (await locationToFilter(store, query.location_id)) ?? undefined;
  return { order, codes: codesOf(type, category), location_id, from, to };
}

/** Undefined: no filter. */
function codesOf(
  type: string | undefined,
  category: (typeof CATEGORY_FILTERS)[number] | undefined,
): readonly ResultCode[] | undefined {
  if (type === undefined && category === undefined) return undefined;
  const ofType = type === undefined ? RESULT_CODES : codesOfType(type);
  return category === undefined
    ? ofType
    : ofType.filter((code) => (categoryOf(code) ?? "NONE") === category);
}
