// Which versions of a location's key are valid at a time.
import { expect, it } from "vitest";
import { keyVersionsAt } from "../../src/model/location-key.ts";

const CHANGED = 1000;

it.each([
  ["never rotated", 1, null, 0, 1, [1]],
  ["before the newest key takes over", 3, CHANGED, CHANGED - 1, 2, [3, 2]],
  ["once it has taken over", 3, CHANGED, CHANGED, 3, [3]],
  ["rotated at once", 2, 0, 0, 2, [2]],
])("%s", (_, key_version, key_changed, now, sealing, opening) => {
  expect(keyVersionsAt({ key_version, key_changed }, now)).toEqual({ sealing, opening });
});
