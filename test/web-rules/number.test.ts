// Numbers with their units, as the pages show them.
import { expect, it } from "vitest";
import { formatPercent } from "../../web/src/number.ts";

it.each([
  [100, "100 %"],
  [0, "0 %"],
  [99.99999999999999, "100 %"], // a difference of two percentages
  [99.999, "99.99 %"],
  [64.1, "64.10 %"], // 64.1 * 100 is 6409.999999999999
  [(100 * 29) / 50, "58.00 %"],
  [(100 * 1239) / 1250, "99.12 %"],
  [null, "–"],
])("shows %s percent as %s", (percent, text) => {
  expect(formatPercent(percent)).toBe(text);
});
