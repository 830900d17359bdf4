// How faults in a body are worded.
import { describe, expect, it } from "vitest";
import { Type } from "../../src/model/type.ts";
import { createValidator, show, summarizeFaults } from "../../src/model/validate.ts";

const Even = Type.Refine(
  Type.Integer({ fault: (shown: string) => `${shown} is not even` }),
  (number) => number % 2 === 0,
);
const validator = createValidator(
  Type.Object(
    {
      name: Type.String({ minLength: 1, maxLength: 5 }),
      count: Type.Optional(Type.Integer({ minimum: 0, maximum: 9 })),
      even: Type.Optional(Even),
      color: Type.Optional(Type.Enum(["red", "green"])),
      step: Type.Optional(Type.Enum([1, 2, 5])),
      note: Type.Optional(Type.Union([Type.String({ maxLength: 3 }), Type.Null()])),
      code: Type.Optional(Type.String({ pattern: "^[a-z]+$" })),
      evens: Type.Optional(Type.Object({}, { additionalProperties: Even })),
      list: Type.Optional(
        Type.Array(
          Type.Object(
            { key: Type.String(), value: Type.String() },
            { additionalProperties: false },
          ),
          { maxItems: 2 },
        ),
      ),
      inner: Type.Optional(
        Type.Object(
          {
            deep: Type.Optional(
              Type.Object({ flag: Type.Boolean() }, { additionalProperties: false }),
            ),
          },
          { additionalProperties: false },
        ),
      ),
    },
    { additionalProperties: false },
  ),
);

const pair = { key: "a", value: "b" };

describe("a fault is worded", () => {
  it.each([
    ["of another type", null, ["body: null is not of type object"]],
    ["an array for an object", [], ["body: [] is not of type object"]],
    ["a text for an object", "x", ["body: 'x' is not of type object"]],
    ["missing", {}, ["'name' is a required property"]],
    [
      "unknown",
      { name: "n", id: "x" },
      ["Additional properties are not allowed ('id' was unexpected)"],
    ],
    [
      "several unknown",
      { name: "n", id: "x", b: 1 },
      ["Additional properties are not allowed ('id', 'b' were unexpected)"],
    ],
    [
      "unknown, nested",
      { name: "n", inner: { x: 1 } },
      ["Additional properties are not allowed ('x' was unexpected) in inner"],
    ],
    [
      "unknown, nested deeper",
      { name: "n", inner: { deep: { flag: true, x: 1 } } },
      ["Additional properties are not allowed ('x' was unexpected) in inner.deep"],
    ],
    [
      "missing, nested",
      { name: "n", inner: { deep: {} } },
      ["'inner.deep.flag' is a required property"],
    ],
    [
      "missing, in an array",
      { name: "n", list: [pair, { key: "a" }] },
      ["'list[1].value' is a required property"],
    ],
    [
      "wrong, in an array",
      { name: "n", list: [{ key: "a", value: 5 }] },
      ["list[0].value: 5 is not of type string"],
    ],
    [
      "unknown, in an array",
      { name: "n", list: [{ ...pair, x: 1 }] },
      ["Additional properties are not allowed ('x' was unexpected) in list[0]"],
    ],
    [
      "too many",
      { name: "n", list: [pair, pair, pair] },
      ["list: 3 items are too many (at most 2)"],
    ],
    ["too short", { name: "" }, ["name: '' is too short (at least 1 character)"]],
    ["too long", { name: "abcdef" }, ["name: 'abcdef' is too long (at most 5 characters)"]],
    [
      "a number as text is not coerced",
      { name: "n", count: "5" },
      ["count: '5' is not of type integer"],
    ],
    [
      "a fraction is not an integer",
      { name: "n", count: 1.5 },
      ["count: 1.5 is not of type integer"],
    ],
    ["too small", { name: "n", count: -1 }, ["count: -1 is less than the minimum of 0"]],
    ["too great", { name: "n", count: 10 }, ["count: 10 is greater than the maximum of 9"]],
    [
      "not in the enumeration",
      { name: "n", color: "blue" },
      ["color: 'blue' is not one of ['red', 'green']"],
    ],
    ["no number of an enumeration", { name: "n", step: 7 }, ["step: 7 is not one of [1, 2, 5]"]],
    [
      "a number of an enumeration as text",
      { name: "n", step: "5" },
      ["step: '5' is not one of [1, 2, 5]"],
    ],
    ["no type of a union", { name: "n", note: 5 }, ["note: 5 is not of type string or null"]],
    [
      "beyond the rule of a branch",
      { name: "n", note: "abcd" },
      ["note: 'abcd' is too long (at most 3 characters)"],
    ],
    ["against a pattern", { name: "n", code: "A1" }, ["code: 'A1' does not match '^[a-z]+$'"]],
    ["in the schema's own words", { name: "n", even: 3 }, ["even: 3 is not even"]],
    [
      "in the schema's own words, of a name that the schema does not list",
      { name: "n", evens: { a: 2, b: 3 } },
      ["evens.b: 3 is not even"],
    ],
    [
      "by its type where the schema's own words do not fit",
      { name: "n", even: "x" },
      ["even: 'x' is not of type integer"],
    ],
  ])("%s", (_, value, faults) => {
    expect(validator.faults(value)).toEqual(faults);
    expect(validator.accepts(value)).toBe(false);
  });

  it("once per place, all in one pass", () => {
    const body = { x: 1, count: "5", color: "blue", inner: { deep: {} } };
    const faults = validator.faults(body);
    expect(faults.toSorted()).toEqual([
      "'inner.deep.flag' is a required property",
      "'name' is a required property",
      "Additional properties are not allowed ('x' was unexpected)",
      "color: 'blue' is not one of ['red', 'green']",
      "count: '5' is not of type integer",
    ]);
    expect(() => validator.parse(body)).toThrow(`${faults[0]} (and 4 other faults)`);
  });

  it("without reading values far beyond the limits", () => {
    let read = 0;
    const counting = <T extends object>(value: T): T =>
      new Proxy(value, {
        get: (target, name) => {
          read += 1;
          return Reflect.get(target, name) as unknown;
        },
      });
    const list = counting(Array.from({ length: 200_000 }, () => 5));
    expect(validator.faults({ list })).toEqual([
      "'name' is a required property",
      "list[0]: 5 is not of type object",
      "list[1]: 5 is not of type object",
      "list[2]: 5 is not of type object",
      "list: 200000 items are too many (at most 2)",
    ]);
    expect(read).toBeLessThan(100);
  });

  it("with few of very many names", () => {
    const names = Array.from({ length: 5000 }, (_, n) => `k${n}`);
    const body = { count: "5", ...Object.fromEntries(names.map((name) => [name, 1])) };
    expect(validator.faults(body)).toEqual([
      expect.stringMatching(/^Additional properties .*'k19' and others were unexpected\)$/),
      "'name' is a required property",
      "count: '5' is not of type integer",
    ]);
  });

  it("in full when there are hundreds", () => {
    const list = Array.from({ length: 300 }, () => 5);
    const numbers = createValidator(Type.Array(Type.String()));
    expect(numbers.faults(list)).toHaveLength(300);
  });
});

describe("a value that fits", () => {
  it("is returned unchanged", () => {
    const value = { name: "n", note: null, step: 5, even: 4, list: [pair] };
    expect(validator.faults(value)).toEqual([]);
    expect(validator.parse(value)).toBe(value);
  });
});

describe("property names of the language itself", () => {
  it.each(["__proto__", "constructor", "toString", "hasOwnProperty"])(
    "%s is unknown like any other",
    (name) => {
      const body: unknown = JSON.parse(`{"name": "n", "${name}": {"a": 1}}`);
      expect(validator.faults(body)).toEqual([
        `Additional properties are not allowed ('${name}' was unexpected)`,
      ]);
    },
  );
});

describe("the summary of faults", () => {
  it.each([
    ["one", ["a"], "a"],
    ["two", ["a", "b"], "a (and 1 other fault)"],
    ["three", ["a", "b", "c"], "a (and 2 other faults)"],
  ])("of %s", (_, faults, expected) => {
    expect(summarizeFaults(faults)).toBe(expected);
  });
});

describe("a value is shown", () => {
  it.each([
    ["in quotes when a text", "x", "'x'"],
    ["as JSON", { a: [1] }, '{"a":[1]}'],
    ["though JSON has no form for it", undefined, "undefined"],
  ])("%s", (_, value, expected) => {
    expect(show(value)).toBe(expected);
  });

  it("with at most 100 characters", () => {
    const shown = show("x".repeat(1000));
    expect(shown).toHaveLength(100);
    expect(shown).toMatch(/^'x+\.\.\.$/);
    expect(show(`-${"😀".repeat(100)}`)).toBe(`'-${"😀".repeat(47)}\ufffd...`);
  });
});
