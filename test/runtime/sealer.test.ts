import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createSealer, keyIdOf, SealError } from "../../src/runtime/sealer.ts";

const [first, second] = [randomBytes(32), randomBytes(32)];

describe("a sealer", () => {
  it.each(["", "s3cret", '\u{1F600} " \\ \n é', "x".repeat(100_000)])(
    "opens what it sealed: %j",
    async (text) => {
      const sealer = createSealer({ current: first });
      const sealed = await sealer.seal(text, "token/1/token/password");
      expect(await sealer.open(sealed, "token/1/token/password")).toBe(text);
    },
  );

  it("writes compact JWE that names its key and hides its text", async () => {
    const sealer = createSealer({ current: first });
    const sealed = await sealer.seal("s3cret", "place");
    const [header = "", key, ...rest] = sealed.split(".");
    expect(JSON.parse(Buffer.from(header, "base64url").toString())).toEqual({
      alg: "dir",
      enc: "A256GCM",
      kid: sealer.keyId,
      place: "place",
    });
    expect([key, rest.length]).toEqual(["", 3]);
    expect(await sealer.seal("s3cret", "place")).not.toBe(sealed);
    expect(keyIdOf(sealed)).toBe(sealer.keyId);
  });

  it("opens with the keys that it still accepts, and seals with the current one", async () => {
    const before = createSealer({ current: first });
    const after = createSealer({ current: second, old: [first] });
    expect(after.keyIds).toEqual([after.keyId, before.keyId]);
    const sealed = await before.seal("s3cret", "place");
    expect(await after.open(sealed, "place")).toBe("s3cret");
    expect(keyIdOf(await after.seal("s3cret", "place"))).toBe(after.keyId);
  });

  const sealer = createSealer({ current: first });
  const forged = (sealed: string, header: object): string =>
    [Buffer.from(JSON.stringify(header)).toString("base64url"), ...sealed.split(".").slice(1)].join(
      ".",
    );

  it.each([
    ["another place", async (sealed: string) => [sealed, "place/2"]],
    [
      "another key",
      async () => [await createSealer({ current: second }).seal("s3cret", "place/1"), "place/1"],
    ],
    [
      "a changed byte",
      async (sealed: string) => [
        sealed.replace(
          /\.([^.])([^.]*\.[^.]*)$/,
          (_, byte: string, rest) => `.${byte === "A" ? "B" : "A"}${String(rest)}`,
        ),
        "place/1",
      ],
    ],
    [
      "a header that was rewritten for the place",
      async (sealed: string) => [
        forged(sealed, {
          alg: "dir",
          enc: "A256GCM",
          kid: sealer.keyId,
          place: "place/2",
        }),
        "place/2",
      ],
    ],
    ["a text that is not sealed", async () => ["s3cret", "place/1"]],
    ["nothing", async () => ["", "place/1"]],
  ])("does not open %s", async (_, make) => {
    const sealed = await sealer.seal("s3cret", "place/1");
    const [text = "", place = ""] = await make(sealed);
    await expect(sealer.open(text, place)).rejects.toThrow(SealError);
  });
});
