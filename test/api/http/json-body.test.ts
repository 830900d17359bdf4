import { expect, it } from "vitest";
import { parseJsonBody } from "../../../src/api/http/json-body.ts";

const bytes = (text: string): Buffer => Buffer.from(text);
const names = (count: number): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, "a,\\"])));
const items = (count: number): string => `{"a":[${Array(count).fill("{}").join(",")}]}`;
const nested = (depth: number): string => `{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;

it.each([
  ["an object", bytes('{"a": [1, "x", {"b": null}]}'), { a: [1, "x", { b: null }] }],
  ["a byte order mark before it", bytes('\uFEFF{"a":1}'), { a: 1 }],
  ["nothing at all", bytes(""), undefined],
  [
    "the same name in two objects",
    bytes('{"a":{"x":1},"b":{"x":2}}'),
    { a: { x: 1 }, b: { x: 2 } },
  ],
  [
    "a value that looks like structure",
    bytes('{"a":"{\\"a\\":[","b":"a"}'),
    { a: '{"a":[', b: "a" },
  ],
  ["a name that is used as a value before", bytes('{"a":"b","b":"a"}'), { a: "b", b: "a" }],
  ["as many properties as are allowed", bytes(names(5000)), expect.anything()],
  ["as many values as are allowed", bytes(items(40_000)), expect.anything()],
  ["every depth that is allowed", bytes(nested(32)), expect.anything()],
  [
    "escaped characters of every kind",
    bytes(String.raw`{"a":"\u00e9\n\ud83d\ude00"}`),
    { a: "é\n😀" },
  ],
])("reads %s", (_what, given, expected) => {
  expect(parseJsonBody(given)).toEqual(expected);
});

it.each([
  ["bytes that are not UTF-8", Buffer.from([0x7b, 0xff, 0x7d]), "the body is not valid UTF-8"],
  ["what is cut off", bytes('{"a": 1'), "the body is not valid JSON"],
  ["single quotes", bytes("{'a': 1}"), "the body is not valid JSON"],
  ["only spaces", bytes("  "), "the body is not valid JSON"],
  ["NaN", bytes('{"a": NaN}'), "the body is not valid JSON"],
  ["an array", bytes("[1]"), "body: [1] is not of type object"],
  ["a string", bytes('"x"'), "body: 'x' is not of type object"],
  ["null", bytes("null"), "body: null is not of type object"],
  [
    "too many properties",
    bytes(names(5001)),
    "an object in the body has more than 5000 properties",
  ],
  ["too many values", bytes(items(40_001)), "the body has more than 40000 values"],
  ["too many values, before it parses them", bytes(items(40_001).slice(0, -1)), "more than 40000"],
  ["too many levels", bytes(nested(33)), "the body is nested deeper than 32 levels"],
  ["levels by the ten thousand", bytes(nested(10_000)), "the body is nested deeper than 32 levels"],
  [
    "arrays by the hundred thousand, which no stack holds",
    bytes("[".repeat(500_000) + "]".repeat(500_000)),
    "the body is nested deeper than 32 levels",
  ],
  [
    "a prototype",
    bytes('{"__proto__": {}}'),
    "Additional properties are not allowed ('__proto__' was unexpected)",
  ],
  [
    "an escaped prototype",
    bytes(String.raw`{"\u005f_proto__": 1}`),
    "Additional properties are not allowed ('__proto__' was unexpected)",
  ],
  [
    "a prototype inside, with its place",
    bytes('{"x": ["{,", {}, {"a": {"b/c": 1, "d": {"__proto__": 1}}}]}'),
    "Additional properties are not allowed ('__proto__' was unexpected) in x[2].a.d",
  ],
  [
    "a constructor",
    bytes('{"constructor": 1}'),
    "Additional properties are not allowed ('constructor' was unexpected)",
  ],
  [
    "a name given twice",
    bytes('{"a": 1, "b": {"a": 1}, "a": 2}'),
    "the property 'a' is given more than once",
  ],
  [
    "a name given twice, escaped once",
    bytes(String.raw`{"a": 1, "\u0061": 2}`),
    "the property 'a' is given more than once",
  ],
  [
    "NUL in a value",
    bytes(String.raw`{"a": ["\u0000"]}`),
    "a string in the body contains a NUL character",
  ],
  [
    "NUL in a name",
    bytes(String.raw`{"\u0000": 1}`),
    "a string in the body contains a NUL character",
  ],
  [
    "a lone surrogate",
    bytes(String.raw`{"a": "\ud83d"}`),
    "a string in the body contains a lone surrogate",
  ],
])("refuses %s", (_what, given, message) => {
  expect(() => parseJsonBody(given)).toThrow(message);
});
