// The filters of lists of runs, as a page's address keeps them: whoever opens a run and goes back
// finds them again. The names differ from those of a call's charts.
import { CATEGORY_FILTERS } from "../../src/model/result.ts";
import { instantIn } from "./clock.ts";
import { OUTCOMES } from "./advice.ts";

type Query = Readonly<Record<string, string | undefined>>;

/** By the names of the interface; empty: any. */
export interface RunFilters {
  readonly category: string;
  readonly type: string;
  readonly location_id: string;
  /** ISO 8601. */
  readonly from: string;
  readonly to: string;
}

/** Reads the filters from the query, and ignores what is invalid in it. */
export const filtersOf = (query: Query): RunFilters => ({
  category: oneOf(CATEGORY_FILTERS, query["run_category"]),
  type: oneOf(Object.keys(OUTCOMES), query["run_result"]),
  location_id: query["run_location"] ?? "",
  from: instantIn(query["run_from"]),
  to: instantIn(query["run_to"]),
});

const oneOf = (values: readonly string[], value = ""): string =>
  values.includes(value) ? value : "";

export const isFiltered = (filters: RunFilters): boolean =>
  Object.values(filters).some((value) => value !== "");

/** Returns the query of changed filters. */
export const filterQuery = (changed: Partial<RunFilters>): Query =>
  Object.fromEntries(
    Object.entries(changed).map(([name, value]) => [
      `run_${NAMES[name as keyof RunFilters]}`,
      value,
    ]),
  );

const NAMES: Readonly<Record<keyof RunFilters, string>> = {
  category: "category",
  type: "result",
  location_id: "location",
  from: "from",
  to: "to",
};
