import { describe, expect, it } from "vitest";
import { isLate, placeInSecond, startOf } from "../../src/model/tick.ts";
import { newId } from "../../src/runtime/ids.ts";
import { newCall, newTick } from "../agent/calling.ts";

const DUE = Date.UTC(2026, 9, 1, 12, 0, 0);
const paced = { ...newTick(newCall()), due_time: DUE, deployment_id: "deployment" };

describe("the place of a deployment in the second", () => {
  it("is fixed", () => {
    expect(["", "a", "b", "deployment"].map(placeInSecond)).toEqual([668, 103, 510, 591]);
  });

  it.each([
    ["ids of one moment", () => newId(DUE)],
    ["numbers", (n: number) => String(n)],
  ])("is even for %s", (_, idOf) => {
    const counts = Array.from({ length: 10 }, () => 0);
    for (let n = 0; n < 10_000; n += 1) {
      const place = placeInSecond(idOf(n));
      expect(Number.isInteger(place)).toBe(true);
      counts[Math.floor(place / 100)] = (counts[Math.floor(place / 100)] ?? 0) + 1;
    }
    // Each is 1000 on average, with a standard deviation of 30.
    for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(200);
    expect(counts).toHaveLength(10);
  });
});

describe("a run starts", () => {
  it("within the second of its due time, if it is scheduled", () => {
    expect(startOf(paced)).toBe(DUE + placeInSecond("deployment"));
  });

  it.each([
    ["ordered by hand", { trigger: "MANUAL" as const }],
    ["of no deployment", { deployment_id: null }],
  ])("at once, if it is %s", (_, change) => {
    expect(startOf({ ...paced, ...change })).toBe(DUE);
  });

  it("late over a second after its place, so never within its second", () => {
    const start = startOf(paced);
    expect([start, DUE + 999, start + 1000].map((at) => isLate(paced, at))).toEqual([
      false,
      false,
      false,
    ]);
    expect(isLate(paced, start + 1001)).toBe(true);
  });
});
