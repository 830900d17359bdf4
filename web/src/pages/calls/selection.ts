// Which calls are shown, and in which order: kept in the query of the page's address.
import type { CallOverview } from "../../call-overview.ts";
import { shareOf, toneOfState } from "../../call-state.ts";
import { matches } from "../../search.ts";
import type { Tone } from "../../tone.ts";

export interface Selection {
  readonly text: string;
  readonly tag: string;
  readonly state: Tone | "";
  readonly sorting: { readonly column: string; readonly descending: boolean };
}

export const TONES: readonly Tone[] = ["fail", "warn", "missed", "pass", "none"];

export const toneOfCall = ({ now }: CallOverview): Tone => toneOfState(now?.state);

type Query = Readonly<Record<string, string | undefined>>;

export function selectionOf({ q = "", tag = "", state, sort = "state" }: Query): Selection {
  return {
    text: q,
    tag,
    state: TONES.find((tone) => tone === state) ?? "",
    sorting: { column: sort.replace(/^-/, ""), descending: sort.startsWith("-") },
  };
}

export function queryOf({ text, tag, state, sorting }: Selection): Query {
  const sort = `${sorting.descending ? "-" : ""}${sorting.column}`;
  return { q: text, tag, state, sort: sort === "state" ? "" : sort };
}

type Value = string | number;

/** What a column is sorted by; null comes last in either order. */
const VALUES: Readonly<Record<string, (call: CallOverview) => Value | null>> = {
  state: stateValue,
  name: ({ name }) => name.toLowerCase(),
  pass: ({ day }) => day?.pass_percent ?? null,
  p50: ({ day }) => day?.p50 ?? null,
  p95: ({ day }) => day?.p95 ?? null,
  locations: ({ locations }) => locations.length,
  last: ({ state }) => state && -Date.parse(state.time),
};

/**
 * A state at all locations comes before the same state at some of them, and a call that is no
 * longer made before those that pass.
 */
function stateValue({ now }: CallOverview): number {
  const isUnmade = now?.state === "NO_RESULT" && now.at.length > 0;
  const place = isUnmade ? TONES.indexOf("pass") - 0.5 : TONES.indexOf(toneOfState(now?.state));
  return place - (now ? shareOf(now) / 2 : 0);
}

export function select(calls: readonly CallOverview[], selection: Selection): CallOverview[] {
  const { state, sorting } = selection;
  const { column } = sorting;
  const valueOf = (Object.hasOwn(VALUES, column) && VALUES[column]) || (() => null);
  const found = matching(calls, selection).filter((call) => !state || toneOfCall(call) === state);
  const sign = sorting.descending ? -1 : 1;
  return found
    .map((call) => ({ call, value: valueOf(call) }))
    .sort(({ call: a, value: x }, { call: b, value: y }) => {
      if (x === y) return a.name < b.name ? -1 : 1;
      if (x === null || y === null) return x === null ? 1 : -1;
      return x < y ? -sign : sign;
    })
    .map(({ call }) => call);
}

/** Filters by text and tag, whatever the state. */
export function matching(
  calls: readonly CallOverview[],
  { text, tag }: Pick<Selection, "text" | "tag">,
): readonly CallOverview[] {
  if (text === "" && tag === "") return calls;
  return calls.filter(
    ({ name, domain, method, tags }) =>
      (tag === "" || tags.includes(tag)) && matches([name, domain, method, ...tags], text),
  );
}

export const tagsOf = (calls: readonly CallOverview[]): string[] =>
  [...new Set(calls.flatMap(({ tags }) => tags))].toSorted((a, b) => a.localeCompare(b));
