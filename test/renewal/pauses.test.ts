import { expect, it } from "vitest";
import { createPauses } from "../../src/renewal/renewal.ts";

const fail = (times: number) => {
  const pauses = createPauses();
  for (let n = 0; n < times; n += 1) pauses.begin("token", 0);
  return pauses;
};

it.each([
  [0, 10_000],
  [1, 20_000],
  [4, 160_000],
  [5, 300_000],
  [9, 300_000],
])("after %i failures, the next pause is %i ms", (times, pauseMs) => {
  expect(fail(times).next("token")).toBe(pauseMs);
});

it("forgets a token whose pause ended over five minutes ago", () => {
  const pauses = fail(3);
  pauses.forgetBefore(340_000);
  expect(pauses.next("token")).toBe(80_000);
  pauses.forgetBefore(340_001);
  expect(pauses.next("token")).toBe(10_000);
});

it("starts from the first pause after a renewal", () => {
  const pauses = fail(3);
  pauses.end("token");
  expect(pauses.next("token")).toBe(10_000);
});
