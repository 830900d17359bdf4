// The metrics of token renewal.
import { expect, it } from "vitest";
import { createRenewalMetrics } from "../../src/renewal/metrics.ts";
import { Registry } from "../../src/runtime/metrics.ts";

it("the attempts of each outcome start at 0", async () => {
  const { values } = await createRenewalMetrics(new Registry()).attempts.get();
  expect(Object.fromEntries(values.map(({ labels, value }) => [labels.outcome, value]))).toEqual({
    renewed: 0,
    failed: 0,
    superseded: 0,
  });
});
