import { expect, it } from "vitest";
import { changedPaths } from "../../src/model/changed-paths.ts";
import { nullable, secret } from "../../src/model/fields.ts";
import { Type } from "../../src/model/type.ts";

const Any = Type.Unknown();
const Sealed = nullable(secret(Type.Record(Type.String(), Any)));
const Schema = Type.Object({
  a: nullable(Type.Object({ b: Any, c: Type.Object({ d: Any }), sealed: Sealed })),
  b: Any,
  meta: Type.Object({ last_update: Any, updated: Any }),
});

it.each([
  ["nothing", { a: 1 }, { a: 1 }, []],
  ["a value", { a: 1, b: 2 }, { a: 1, b: 3 }, ["b"]],
  ["values below", { a: { b: 1, c: { d: 2 } } }, { a: { b: 2, c: { d: 3 } } }, ["a.b", "a.c.d"]],
  ["an array, whole", { a: [{ b: 1 }] }, { a: [{ b: 2 }] }, ["a"]],
  ["what was added", {}, { a: null }, ["a"]],
  ["what was removed", { a: 1, b: 2 }, { b: 2 }, ["a"]],
  ["an object where there was null", { a: null }, { a: { b: 1 } }, ["a"]],
  [
    "a secret, whole",
    { a: { sealed: { pin: 1 } } },
    { a: { sealed: { pin: 2, tan: 3 } } },
    ["a.sealed"],
  ],
  [
    "what Sonde sets in a secret",
    { a: { sealed: { pin: 1 } } },
    { a: { sealed: { pin: 1, renewal_error: "gone" } } },
    ["a.sealed.renewal_error"],
  ],
  ["what the schema does not name, whole", { c: { d: 1 } }, { c: { d: 2 } }, ["c"]],
  ["a long name, shortened", {}, { ["x".repeat(101)]: 1 }, [`${"x".repeat(100)}…`]],
  [
    "nothing, for a rewrite",
    { meta: { last_update: "1", updated: "1" } },
    { meta: { last_update: "2", updated: "2" } },
    [],
  ],
])("names what an update changed: %s", (_, before, after, paths) => {
  expect(changedPaths(Schema, before, after)).toEqual(paths);
});
