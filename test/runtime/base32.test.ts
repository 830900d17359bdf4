import { expect, it } from "vitest";
import { base32 } from "../../src/runtime/base32.ts";

// RFC 4648 section 10, without padding.
it.each([
  ["", ""],
  ["f", "MY"],
  ["fo", "MZXQ"],
  ["foo", "MZXW6"],
  ["foob", "MZXW6YQ"],
  ["fooba", "MZXW6YTB"],
  ["foobar", "MZXW6YTBOI"],
])("'%s' is '%s' in base 32", (text, encoded) => {
  expect(base32(Buffer.from(text), "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")).toBe(encoded);
});
