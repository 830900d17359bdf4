import { describe, expect, it } from "vitest";
import { nullable, secret, withDefault } from "../../src/model/fields.ts";
import { hasSecrets, replaceAt, secretPaths } from "../../src/model/secrets.ts";
import { Type } from "../../src/model/type.ts";

const Secret = secret(Type.String());

describe("the secret paths of a document", () => {
  it.each([
    ["a field", Type.Object({ a: Secret, b: Type.String() }), { a: "x", b: "y" }, ["a"]],
    ["a nested field", Type.Object({ a: Type.Object({ b: Secret }) }), { a: { b: "x" } }, ["a.b"]],
    ["an optional field", Type.Object({ a: Type.Optional(Secret) }), { a: "x" }, ["a"]],
    ["an absent field", Type.Object({ a: Type.Optional(Secret) }), {}, []],
    ["an empty text", Type.Object({ a: Secret }), { a: "" }, ["a"]],
    [
      "a secret that may be null",
      Type.Object({ a: secret(nullable(Type.String())) }),
      { a: "x" },
      ["a"],
    ],
    [
      "null, or a secret",
      Type.Object({ a: withDefault(nullable(Secret), null) }),
      { a: "x" },
      ["a"],
    ],
    ["a secret that is null", Type.Object({ a: nullable(Secret) }), { a: null }, []],
    [
      "objects in an array",
      Type.Object({ a: Type.Array(Type.Object({ b: Secret })) }),
      { a: [{ b: "x" }, {}, { b: "y" }] },
      ["a.0.b", "a.2.b"],
    ],
    ["items of an array", Type.Array(Secret), ["x", "y"], ["0", "1"]],
    [
      "values of any name",
      Type.Record(Type.String(), Secret),
      { a: "x", constructor: "y" },
      ["a", "constructor"],
    ],
    [
      "one branch of a union of objects",
      Type.Union([Type.Object({ a: Secret }), Type.Object({ b: Type.String() })]),
      { a: "x", b: "y" },
      ["a"],
    ],
    [
      "a whole object",
      Type.Object({ a: secret(Type.Object({ b: Secret })) }),
      { a: { b: "x" } },
      ["a"],
    ],
    ["unknown fields beside it", Type.Object({ a: Secret }), { a: "x", other: { a: "y" } }, ["a"]],
    ["additional fields", Type.Object({}, { additionalProperties: Secret }), { a: "x" }, ["a"]],
    ["no marks", Type.Object({ a: Type.String() }), { a: "x" }, []],
  ])("are found: %s", (_, schema, document, expected) => {
    const paths = secretPaths(schema, document);
    expect(paths.map((path) => path.join("."))).toEqual(expected);
    expect(expected.length === 0 || hasSecrets(schema)).toBe(true);
  });

  it("stay the same when their values are replaced", async () => {
    const schema = Type.Object({
      a: Type.Array(Type.Object({ b: secret(Type.Unknown()), c: Type.Number() })),
      d: nullable(secret(Type.Object({ e: Secret }))),
    });
    const document = {
      a: [
        { b: { x: 1 }, c: 1 },
        { b: [2], c: 2 },
      ],
      d: { e: "x" },
    };
    const paths = secretPaths(schema, document);
    const sealed = await replaceAt<unknown>(document, paths, async (value) =>
      JSON.stringify(value),
    );
    expect(sealed).toEqual({
      a: [
        { b: '{"x":1}', c: 1 },
        { b: "[2]", c: 2 },
      ],
      d: '{"e":"x"}',
    });
    expect(secretPaths(schema, sealed)).toEqual(paths);
    expect(document.d).toEqual({ e: "x" });
    expect(
      await replaceAt(sealed, paths, async (value) => JSON.parse(String(value)) as unknown),
    ).toEqual(document);
  });

  it("fail with the first of several paths, whichever fails sooner", async () => {
    const replacing = replaceAt({ a: 1, b: 2 }, [["a"], ["b"]], async (_, [at]) => {
      if (at === "a") await new Promise(setImmediate);
      throw new Error(`no ${at}`);
    });
    await expect(replacing).rejects.toThrow("no a");
  });
});
