// What the pages of workflows compute: the order of calls, and the timeline of a run.
import { describe, expect, it } from "vitest";
import type { ListedResult } from "../../src/model/result.ts";
import { NO_TIMING } from "../../src/model/timing.ts";
import { changesOf } from "../../web/src/changes.ts";
import { movedTo } from "../../web/src/order.ts";
import { bodyOf, draftOf, withStep } from "../../web/src/pages/workflow/draft.ts";
import type { Step as DraftStep } from "../../web/src/pages/workflow/draft.ts";
import { redirectsOf, spansOf } from "../../web/src/parts/phases.ts";
import { stepsOf, totalPause } from "../../web/src/steps.ts";

/**
 * Builds a call that began at `start_time` and took `total` milliseconds; without a time it was not
 * made.
 */
const call = (start_time: string | null, total: number | null): ListedResult =>
  ({
    meta: { start_time, result_category: start_time === null ? null : "PASS" },
    timing: { ...NO_TIMING, total },
  }) as ListedResult;

const RUN = [
  call("2026-11-22T10:00:00.000250Z", 100.5),
  call(null, null),
  call("2026-11-22T10:00:02.100750Z", 50),
  call("2026-11-22T10:00:02.160750Z", 10),
];

const offsets = (withPauses: boolean): (number | null)[] =>
  stepsOf(RUN, withPauses).map(({ offsetMs }) => offsetMs && Math.round(offsetMs * 1000) / 1000);

describe("the time line of a run", () => {
  it("places each executed call to the microsecond, with the pauses between calls", () => {
    expect(offsets(true)).toEqual([0, null, 2100.5, 2160.5]);
    const pauses = stepsOf(RUN, true).map(({ pauseMs }) => Math.round(pauseMs));
    // The 10 ms between the last two are the agent's own work.
    expect(pauses).toEqual([0, 0, 2000, 0]);
    expect(Math.round(totalPause(stepsOf(RUN, true)))).toBe(2000);
  });

  it("joins the calls where pauses are left out", () => {
    expect(offsets(false)).toEqual([0, null, 100.5, 160.5]);
    expect(totalPause(stepsOf(RUN, false))).toBe(0);
  });
});

describe("the bars of a redirected call", () => {
  const timing = { ...NO_TIMING, tcp: 1, processing: 20, download: 3, total: 900 };
  const hop = { url: "http://a.test/", http_code: 302, timing: { ...NO_TIMING, total: 874 } };

  it.each([
    ["with the exchanges before", [hop], 874, ["between", 2]],
    ["once these are no longer kept", [], 876, undefined],
  ])("begin with the redirects, %s", (_when, hops, ms, between) => {
    const result = { meta: { redirects: 1 }, timing, hops } as unknown as ListedResult;
    const spans = spansOf(timing, redirectsOf(result));
    expect(spans.map(({ phase, ms }) => [phase, ms])).toEqual([
      ["redirects", ms],
      ["tcp", 1],
      ["processing", 20],
      ["download", 3],
      ...(between ? [between] : []),
    ]);
    expect(spans[1]?.from).toBe(ms);
  });
});

describe("the calls of a draft", () => {
  const steps: readonly DraftStep[] = ["a", "b", "a"].map((callId, key) => ({ key, callId }));

  it.each([
    [0, 2, "baa"],
    [2, 0, "aab"],
    [1, 1, "aba"],
    [9, 0, "aba"],
  ])("moved from %i to %i are %s", (from, to, order) => {
    const moved = movedTo(steps, from, to);
    expect(moved.map(({ callId }) => callId).join("")).toBe(order);
  });

  it("keep their own keys, even if a call is repeated", () => {
    const keys = withStep(movedTo(steps, 2, 0), "a").map(({ key }) => key);
    expect(new Set(keys).size).toBe(4);
  });

  it("are saved in their order, and only changes are sent", () => {
    const meta = {
      name: "W",
      description: null,
      tags: [],
      owner: "o",
      created: "",
      last_update: "",
    };
    const workflow = { call_ids: ["a", "b"], stop_on_failure: true, handle_cookies: false };
    const draft = draftOf({ id: "w", meta, access: { public: false, org: false }, workflow });
    expect(bodyOf(draft)).toMatchObject({ meta: { description: null }, workflow });
    const changes = (changed: object) => changesOf(bodyOf(draft), bodyOf({ ...draft, ...changed }));
    expect(changes({ description: " " })).toEqual({});
    expect(changes({ steps: movedTo(draft.steps, 0, 1), stopOnFailure: false })).toEqual({
      workflow: { call_ids: ["b", "a"], stop_on_failure: false },
    });
  });
});
