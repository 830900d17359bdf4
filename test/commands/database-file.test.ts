import { expect, it } from "vitest";
import { inWords } from "../../src/commands/database-file.ts";

it.each([
  [{ results: 1 }, { call: 1, auth_setting: 2 }, "1 result, 1 call, 2 auth settings"],
  [{ results: 200_000 }, { workflow: 3 }, "200000 results, 3 workflows"],
  [{}, {}, "0 results"],
])("the contents of a database are summed up: %j, %j", (rows, documents, expected) => {
  expect(inWords({ rows, documents })).toBe(expected);
});
