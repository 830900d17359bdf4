// Resolves the location named in a request: in a body or, with `__ALL__` for all, in a filter.
import { invalid } from "../model/errors.ts";
import { EXAMPLE } from "../model/fields.ts";
import { show } from "../model/validate.ts";
import type { Store } from "../store/store.ts";
import { text } from "./http/parameters.ts";

/** All locations together, in queries and answers. */
export const ALL_LOCATIONS = "__ALL__";

export const LOCATION_FILTER = text(
  `only calls made there; absent, empty or \`${ALL_LOCATIONS}\`: at any location`,
  EXAMPLE.location,
);

/** Resolves to what a value of `LOCATION_FILTER` selects; null: all locations. Throws `invalid`. */
export async function locationToFilter(
  store: Store,
  wanted: string | undefined,
): Promise<string | null> {
  if (wanted === undefined || wanted === ALL_LOCATIONS) return null;
  // Results of a location stay when it is removed.
  const known = (await store.locations.listAll()).map(({ id }) => id);
  const choice = chooseLocation(known, "location_id", wanted);
  if ("fault" in choice) throw invalid(choice.fault);
  return choice.id;
}

type Choice = { readonly id: string } | { readonly fault: string };

/** The id of the location, or a fault for the caller. `""` is the default location: the oldest. */
export const resolveLocation = async (
  store: Store,
  field: string,
  wanted: string,
): Promise<Choice> => chooseLocation(await knownLocations(store), field, wanted);

/** Like `resolveLocation`; keeps the location from being removed until the transaction ends. */
export async function holdLocation(store: Store, field: string, wanted: string): Promise<Choice> {
  const choice = await resolveLocation(store, field, wanted);
  if ("fault" in choice || (await store.locations.hold(choice.id))) return choice;
  return holdLocation(store, field, wanted); // it was removed meanwhile
}

/** Ids, oldest first. */
export const knownLocations = async (store: Store): Promise<string[]> =>
  (await store.locations.list()).map(({ id }) => id);

/** `resolveLocation` among `known` locations. */
export function chooseLocation(known: readonly string[], field: string, wanted: string): Choice {
  const id = wanted === "" ? known[0] : known.find((one) => one === wanted);
  if (id !== undefined) return { id };
  const allowed = known.map((one) => show(one)).join(", ");
  return { fault: `${field}: ${show(wanted)} is not one of [${allowed}]` };
}
