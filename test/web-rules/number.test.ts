// Numbers with their units, as the pages show them.
import { expect, it } from "vitest";
import { formatMs, formatPercent } from "../../web/src/number.ts";

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

it.each([
  [12.34, "12.3 ms"],
  [-12.34, "−12.3 ms"],
  [-1500, "−1.50 s"],
  [-3_600_000, "−3600.0 s"],
  [null, "–"],
])("shows %s milliseconds as %s", (ms, text) => {
  expect(formatMs(ms)).toBe(text);
});
