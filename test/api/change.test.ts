import { expect, it } from "vitest";
import { changedPaths } from "../../src/api/change.ts";

it.each([
  ["nothing", { a: 1 }, { a: 1 }, []],
  ["a value", { a: 1, b: 2 }, { a: 1, b: 3 }, ["b"]],
  ["values below", { a: { b: 1, c: { d: 2 } } }, { a: { b: 2, c: { d: 3 } } }, ["a.b", "a.c.d"]],
  ["an array, whole", { a: [{ b: 1 }] }, { a: [{ b: 2 }] }, ["a"]],
  ["what was added", {}, { a: null }, ["a"]],
  ["what was removed", { a: 1, b: 2 }, { b: 2 }, ["a"]],
  ["an object where there was null", { a: null }, { a: { b: 1 } }, ["a"]],
  [
    "nothing, for a rewrite",
    { meta: { last_update: "1", updated: "1" } },
    { meta: { last_update: "2", updated: "2" } },
    [],
  ],
])("names what an update changed: %s", (_, before, after, paths) => {
  expect(changedPaths(before, after)).toEqual(paths);
});
