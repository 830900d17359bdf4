import * as fc from "fast-check";
import { expect, it } from "vitest";
import { createStartFilter } from "../../src/net/response-start.ts";

const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";
const HINTS = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
const FINAL = `HTTP/1.1 200 OK\r\n\r\n${CONTINUE}`;
const FOLDED = "HTTP/1.1 200 OK\r\nA: b\n c\r\n\td\r\nE: f\r\n\r\nbody\n g";
const JOINED = "HTTP/1.1 200 OK\r\nA: b c d\r\nE: f\r\n\r\nbody\n g";

const read = (chunks: readonly string[]): string => {
  const filter = createStartFilter();
  return chunks
    .map((chunk) => filter.pass(Buffer.from(chunk, "latin1")))
    .map((passed) => passed.toString("latin1"))
    .join("");
};

/** Returns the fault that the filter reports. */
const faultOf = (text: string): unknown => createStartFilter().pass(Buffer.from(text, "latin1"));

it.each([
  ["an interim response is dropped", CONTINUE + FINAL, FINAL],
  ["its headers with it", `HTTP/1.1 100 Continue\r\nA: b\r\n\r\n${FINAL}`, FINAL],
  ["as often as it comes", CONTINUE.repeat(3) + FINAL, FINAL],
  ["whatever its status", HINTS + CONTINUE + HINTS + FINAL, FINAL],
  [
    "before a large body",
    `${CONTINUE}HTTP/1.1 200 OK\r\n\r\n${"b".repeat(100_000)}`,
    `HTTP/1.1 200 OK\r\n\r\n${"b".repeat(100_000)}`,
  ],
  ["a body is not an interim response", FINAL, FINAL],
  ["101 is not an interim response", `HTTP/1.1 101 X\r\n\r\n`, undefined],
  ["only HTTP has interim responses", "ICY 100 OK\r\n\r\n", undefined],
  ["also of HTTP/1.0", `HTTP/1.0 100 Continue\r\n\r\n${FINAL}`, FINAL],
  ["lines end in CR LF", "HTTP/1.1 100 Continue\n\n", undefined],
  ["1000 is not a status", "HTTP/1.1 1000 X\r\n\r\n", undefined],
  ["a final response passes", "HTTP/1.1 200 OK\r\n", undefined],
  ["so does any other start", "x", undefined],
  ["with its lines", "x\r\n y\r\n\r\n z", undefined],
  ["a folded header is joined", FOLDED, JOINED],
  ["white space after the status line is no fold", `HTTP/1.1 200 OK\r\n A: b\r\n\r\n`, undefined],
  ["a body is not unfolded", `${FINAL}\n a\r\n\tb`, undefined],
  ["the beginning of one is withheld", "HTTP/1.1 10", ""],
  ["until it is whole", "HTTP/1.1 100 Continue\r\nA: b", ""],
  ["and so is a status line", "HTTP/1.1 200 O", ""],
])("%s", (_, text, expected = text) => {
  expect(read([text])).toBe(expected);
});

it.each([
  ["a response", FINAL, FINAL],
  ["a folded header", FOLDED, JOINED],
])("%s reads the same in pieces", (_, final, expected) => {
  const text = CONTINUE + HINTS + CONTINUE + final;
  fc.assert(
    fc.property(fc.array(fc.nat(text.length)), (cuts) => {
      const ends = [0, ...cuts, text.length].toSorted((a, b) => a - b);
      const chunks = ends.map((end, at) => text.slice(ends[at - 1] ?? 0, end));
      expect(read(chunks)).toBe(expected);
    }),
  );
});

it.each([
  ["21 interim responses", CONTINUE.repeat(10) + HINTS.repeat(11)],
  ["an interim response of 17 KiB", `HTTP/1.1 103\r\n${"A: b\r\n".repeat(3000)}`],
  ["a status line of 17 KiB", `HTTP/1.1 200 ${"x".repeat(17_000)}`],
])("%s are too large", (_, text) => {
  expect(faultOf(text)).toMatch(/more than (20|16384)/);
});

it("20 interim responses are accepted", () => {
  expect(read([CONTINUE.repeat(10) + HINTS.repeat(10) + FINAL])).toBe(FINAL);
});
