import { expect, it } from "vitest";
import { chunksOf, halvesOf } from "../../src/model/chunks.ts";

it.each([
  [[], 2, []],
  [[1, 2, 3], 2, [[1, 2], [3]]],
  [
    [1, 2, 3, 4],
    2,
    [
      [1, 2],
      [3, 4],
    ],
  ],
  [[1, 2], 5, [[1, 2]]],
])("%j in chunks of %i is %j", (items, size, chunks) => {
  expect(chunksOf(items, size)).toEqual(chunks);
});

it.each([
  [[], []],
  [[1], [[1]]],
  [
    [1, 2],
    [[1], [2]],
  ],
  [
    [1, 2, 3],
    [[1, 2], [3]],
  ],
])("the halves of %j are %j", (items, halves) => {
  expect(halvesOf(items)).toEqual(halves);
});
