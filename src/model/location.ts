// Locations, where agents run calls. A location id is a token of bus subjects.
import { invalid } from "./errors.ts";
import { Type } from "./type.ts";
import { show } from "./validate.ts";

const LOCATION_ID = /^[A-Za-z0-9_-]{1,64}$/;
const notLocationId = (shown: string): string =>
  `${shown} is not a location id (1 to 64 letters, digits, _ or -)`;

export const LocationId = Type.String({ pattern: LOCATION_ID.source, fault: notLocationId });

/** Returns the id; throws `invalid` if it is not a location id. */
export function checkLocationId(id: string): string {
  if (!LOCATION_ID.test(id)) throw invalid(notLocationId(show(id)));
  return id;
}

export interface Location {
  readonly id: string;
  readonly label: string;
  readonly region: string;
}
