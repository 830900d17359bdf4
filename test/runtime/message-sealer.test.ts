import { compactDecrypt } from "jose/jwe/compact/decrypt";
import { describe, expect, it } from "vitest";
import { createMessageSealer } from "../../src/runtime/message-sealer.ts";
import { deriveSecret } from "../../src/runtime/derived-keys.ts";
import { SealError } from "../../src/runtime/sealer.ts";

const [first, second] = [1, 2].map((byte) => new Uint8Array(32).fill(byte)) as [
  Uint8Array,
  Uint8Array,
];
const sealer = createMessageSealer([first]);
const TEXT = `{"ticks":["Zürich", "s3cret"]}`;

describe("a sealed message", () => {
  it.each(["", TEXT, "x".repeat(1_000_000)])("opens where it belongs (%#)", (text) => {
    expect(sealer.open(sealer.seal(text, "ticks/here"), "ticks/here")).toBe(text);
  });

  it("is a JWE whose parts after the header are bytes, and never the same twice", async () => {
    const message = Buffer.from(sealer.seal(TEXT, "ticks/here"));
    const dot = message.indexOf(".");
    const parts = [
      message.subarray(dot + 1, dot + 13),
      message.subarray(dot + 29),
      message.subarray(dot + 13, dot + 29),
    ].map((part) => part.toString("base64url"));
    const compact = [message.subarray(0, dot).toString(), "", ...parts].join(".");
    const key = deriveSecret(first, "encryption of messages");
    const { plaintext, protectedHeader } = await compactDecrypt(compact, key);
    expect(new TextDecoder().decode(plaintext)).toBe(TEXT);
    expect(protectedHeader).toEqual({
      alg: "dir",
      enc: "A256GCM",
      kid: sealer.keyIds[0],
      place: "ticks/here",
    });
    expect(sealer.seal(TEXT, "ticks/here")).not.toEqual(message);
  });

  it("has at most 400 bytes more than its text, in a place with the longest location", () => {
    const place = `credentials request answer/${"x".repeat(64)}/${crypto.randomUUID()}`;
    expect(sealer.seal(TEXT, place).length - Buffer.byteLength(TEXT)).toBeLessThan(400);
  });

  it("opens with each key, and is sealed with the first", () => {
    const both = createMessageSealer([second, first]);
    expect(both.open(sealer.seal(TEXT, "here"), "here")).toBe(TEXT);
    expect(() => sealer.open(both.seal(TEXT, "here"), "here")).toThrow(
      `sealed with the key ${both.keyIds[0]} instead of ${sealer.keyIds[0]}`,
    );
  });

  const changed = (at: (message: Uint8Array) => number) => (message: Uint8Array) => {
    const copy = Uint8Array.from(message);
    copy[at(copy)] = (copy[at(copy)] ?? 0) ^ 1;
    return copy;
  };
  const withPlace = (message: Uint8Array, place: string): Uint8Array => {
    const dot = message.indexOf(46);
    const header = Buffer.from(Buffer.from(message.subarray(0, dot)).toString(), "base64url");
    const forged = JSON.stringify({ ...(JSON.parse(header.toString()) as object), place });
    const text = Buffer.from(forged).toString("base64url");
    return Buffer.concat([Buffer.from(text), message.subarray(dot)]);
  };
  it.each([
    ["with a changed byte at its end", changed(({ length }) => length - 1), "changed"],
    ["with a changed nonce", changed((message) => message.indexOf(46) + 1), "changed"],
    ["with a changed tag", changed((message) => message.indexOf(46) + 13), "changed"],
    ["cut off", (message: Uint8Array) => message.subarray(0, -1), "changed"],
    [
      "cut off in its tag",
      (message: Uint8Array) => message.subarray(0, message.indexOf(46) + 20),
      "changed",
    ],
    [
      "for another place",
      () => sealer.seal(TEXT, "ticks/there"),
      "for another place than ticks/here",
    ],
    [
      "that claims another place",
      () => withPlace(sealer.seal(TEXT, "ticks/there"), "ticks/here"),
      "changed",
    ],
    ["that is a text", () => Buffer.from(TEXT), "not sealed"],
    ["that is empty", () => new Uint8Array(), "not sealed"],
    [
      "with a header of its own",
      () => Buffer.from(`${btoa(`{"kid":"it is mine"}`)}.`),
      "not sealed",
    ],
  ])("%s does not open", (_, change, reason) => {
    const open = (): string => sealer.open(change(sealer.seal(TEXT, "ticks/here")), "ticks/here");
    expect(open).toThrow(SealError);
    expect(open).toThrow(reason);
  });
});

it("a digest is the same for the same text and key only", () => {
  const again = createMessageSealer([first, second]);
  expect(again.digest("a")).toBe(sealer.digest("a"));
  const others = [sealer.digest("b"), createMessageSealer([second, first]).digest("a")];
  expect(others).not.toContain(sealer.digest("a"));
});
