// The locations by name, as the API lists them.

export interface LocationsInfo {
  /** Labels by id; the empty id is the default location's. */
  readonly locations: Readonly<Record<string, string>>;
  /** `all` has every location, the default one first. */
  readonly regions: readonly { readonly id: string; readonly locations: readonly string[] }[];
}

export interface Place {
  readonly id: string;
  readonly name: string;
  /** Of the default location, whose id is empty here: its own id. */
  readonly ownId?: string | undefined;
}

/** Returns the locations, the default one first. */
export function placesOf({ locations, regions }: LocationsInfo): readonly Place[] {
  const ownId = regions.find(({ id }) => id === "all")?.locations[0];
  return Object.entries(locations)
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([id, name]) =>
      id === "" ? { id, name: `Default (${name})`, ownId } : { id, name: name || id },
    );
}

/** The choices of a field that filters by location; `all` names the empty one. */
export const placeChoices = (places: readonly Place[], all: string) => [
  { value: "", name: all },
  ...places.filter(({ id }) => id !== "").map(({ id, name }) => ({ value: id, name })),
];

/** `Paris, Tokyo`; if a name has a comma itself, `Paris, FR; Tokyo, JP`. */
export const listed = (names: readonly string[]): string =>
  names.join(names.some((name) => name.includes(",")) ? "; " : ", ");

/** Returns the id that the empty id stands for; empty until the locations are known. */
export const idOfDefault = (places: readonly Place[]): string =>
  places.find(({ id }) => id === "")?.ownId ?? "";
