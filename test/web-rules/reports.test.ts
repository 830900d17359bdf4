// How the pages handle reports: how rows compare, and what an edit sends.
import { expect, it } from "vitest";
import type { Report } from "../../src/model/report.ts";
import { changesOf } from "../../web/src/changes.ts";
import { movedTo } from "../../web/src/order.ts";
import { bodyOf, draftOf, newRow } from "../../web/src/report-draft.ts";
import { marksOf, periodsBeside, viewedPeriod } from "../../web/src/reports.ts";
import type { ReportEntry } from "../../web/src/reports.ts";

const entry = (p95: number | null, pass_percent: number | null = 100) =>
  ({ stat: null, adv_stat: { p95, pass_percent } }) as ReportEntry;

it("marks the best and the worst rows; rows without a number are neither", () => {
  const rows = [entry(80), entry(250), entry(null), entry(80), { stat: null, adv_stat: null }];
  expect(marksOf(rows, "p95")).toEqual(["best", "worst", undefined, "best", undefined]);
});

it("ranks more passed calls as better, and marks nothing if all are equal", () => {
  expect(marksOf([entry(1, 99), entry(1, 100)], "pass_percent")).toEqual(["worst", "best"]);
  expect(marksOf([entry(7), entry(7)], "p95")).toEqual([undefined, undefined]);
  expect(marksOf([entry(7), entry(null)], "p95")).toEqual([undefined, undefined]);
});

it("reads the period from the address; otherwise the last whole one", () => {
  const now = Date.UTC(2026, 10, 22, 23);
  expect(viewedPeriod({}, now)).toEqual({
    kind: "WEEK",
    start: Date.UTC(2026, 10, 9),
    type: "COMPLETE",
    by: "p95",
  });
  const asked = { kind: "month", time: "2026-02-30", type: "all", by: "avg_latency" };
  expect(viewedPeriod(asked, now)).toEqual({
    kind: "MONTH",
    start: Date.UTC(2026, 9, 1),
    type: "ALL",
    by: "avg_latency",
  });
});

it("steps from period to period, never beyond now", () => {
  const now = Date.UTC(2026, 2, 31, 12);
  expect(periodsBeside("MONTH", Date.UTC(2026, 2, 15), now)).toEqual({
    before: Date.UTC(2026, 1, 1),
    after: undefined,
  });
  expect(periodsBeside("MONTH", Date.UTC(2026, 1, 1), now).after).toBe(Date.UTC(2026, 2, 1));
});

const STORED = {
  id: "report",
  meta: { name: "Shop", description: null, tags: ["a"] },
  access: { public: false, org: true },
  groups: [
    { name: "One", rows: [{ call_id: "c1", location_id: "paris" }] },
    { name: "Two", rows: [] },
  ],
} as unknown as Report;

it("omits unchanged groups from a change, which keeps rows that the owner may not see", () => {
  const draft = { ...draftOf(STORED), name: "Shops" };
  expect(changesOf(bodyOf(draftOf(STORED)), bodyOf(draft))).toEqual({ meta: { name: "Shops" } });
});

it("sends every group, in its order, once one of them changes", () => {
  const draft = draftOf(STORED);
  const [one, two] = draft.groups;
  if (!one || !two) throw new Error("there are two groups");
  const groups = movedTo([one, { ...two, rows: [newRow("c2", "")] }], 1, 0);
  expect(changesOf(bodyOf(draft), bodyOf({ ...draft, groups }))).toEqual({
    groups: [
      { name: "Two", rows: [{ call_id: "c2", location_id: "" }] },
      { name: "One", rows: [{ call_id: "c1", location_id: "paris" }] },
    ],
  });
});

it("sends the groups of a new report, also where there are none", () => {
  const draft = { ...draftOf(), name: "New", groups: [] };
  expect(bodyOf(draft)).toMatchObject({ meta: { name: "New" }, groups: [] });
});

it.each([
  [0, 2, "bca"],
  [2, 0, "cab"],
  [0, -1, "abc"],
  [2, 3, "abc"],
])("moves the one at %i to %i: %s", (from, to, moved) => {
  expect(movedTo(["a", "b", "c"], from, to).join("")).toBe(moved);
});
