// What charts draw.
import { expect, it } from "vitest";
import { indexesAlone } from "../../web/src/parts/chart/chart-spec.ts";

it.each([
  [[], []],
  [[5], [0]],
  [[5, null], [0]],
  [[null, 5], [1]],
  [[5, 6, null, 0, null, 8, 9], [3]],
  [
    [null, 5, null, null, 6, null, 7],
    [1, 4, 6],
  ],
  [[5, 6, 7], []],
])("of the values %j, those at %j are alone", (values, alone) => {
  expect(indexesAlone(values)).toEqual(alone);
});
