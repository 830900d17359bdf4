// Which locations a request may name, and which one it means when it names none.
import { show } from "../model/validate.ts";
import type { Store } from "../store/store.ts";

/**
 * The location's id, or a fault in words for the caller. `""` is the default location: the oldest.
 */
export async function resolveLocation(
  store: Store,
  field: string,
  wanted: string,
): Promise<{ readonly id: string } | { readonly fault: string }> {
  return chooseLocation(await knownLocations(store), field, wanted);
}

export const knownLocations = async (store: Store): Promise<string[]> =>
  (await store.locations.list()).map(({ id }) => id);

/** The same, of locations that are `known`, oldest first. */
export function chooseLocation(
  known: readonly string[],
  field: string,
  wanted: string,
): { readonly id: string } | { readonly fault: string } {
  const id = wanted === "" ? known[0] : known.find((one) => one === wanted);
  if (id !== undefined) return { id };
  const shown = known.map((one) => show(one)).join(", ");
  return { fault: `${field}: ${show(wanted)} is not one of [${shown}]` };
}
