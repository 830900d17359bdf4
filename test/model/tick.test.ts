// Ticks, and the messages that carry them.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_TICKS_PER_MESSAGE, groupTicks, tickValidator } from "../../src/model/tick.ts";
import type { Tick, TickWorkflow } from "../../src/model/tick.ts";

const DUE = Date.parse("2026-10-01T12:00:00Z");

const aTick = (n: number, change: Partial<Tick> = {}): Tick => ({
  result_id: `run-${String(n).padStart(5, "0")}`,
  trigger: "SCHEDULE",
  trigger_time: DUE,
  due_time: DUE,
  latest_start: DUE + 60_000,
  deployment_id: "deployment",
  location_id: "local",
  context: {},
  calls: [
    {
      result_id: `run-${n}`,
      call_id: "call",
      name: "home",
      domain: "h.test",
      tags: [],
      request: {
        method: "GET",
        url: "http://h.test/",
        parameters: [],
        headers: [],
        body: null,
      },
    },
  ],
  ...change,
});
const WORKFLOW: TickWorkflow = {
  workflow_id: "workflow",
  name: "checkout",
  stop_on_failure: true,
  handle_cookies: false,
  between_calls_delay: 20,
};
const manyTicks = (count: number): Tick[] => Array.from({ length: count }, (_, n) => aTick(n));
const idsOf = (groups: readonly Tick[][]): string[][] =>
  groups.map((group) => group.map((tick) => tick.result_id));

describe("grouping ticks into messages", () => {
  it.each([
    ["none", 0, []],
    ["one", 1, [1]],
    ["as many as a message holds", 50, [50]],
    ["one more than that", 51, [50, 1]],
    ["several messages", 120, [50, 50, 20]],
  ])("of %s", (_, count, sizes) => {
    expect(groupTicks(manyTicks(count)).map((group) => group.length)).toEqual(sizes);
  });

  it.each([
    ["two locations", { location_id: "paris" }],
    ["two due seconds", { due_time: DUE + 1000 }],
    ["calls and workflows", { workflow: WORKFLOW }],
  ])("keeps %s apart", (_, change) => {
    expect(groupTicks([aTick(1), aTick(2, change), aTick(3)])).toEqual([
      [aTick(1), aTick(3)],
      [aTick(2, change)],
    ]);
  });

  it("keeps the ticks of one second together", () => {
    const ticks = [aTick(1), aTick(2, { due_time: DUE + 999 })];
    expect(groupTicks(ticks)).toEqual([ticks]);
  });

  it("gives the same groups in any order: repeating them repeats the messages", () => {
    const anyTicks = fc
      .uniqueArray(fc.integer({ min: 0, max: 99_999 }), { maxLength: 200 })
      .map((ids) =>
        ids.map((n) => aTick(n, { location_id: `l${n % 3}`, due_time: DUE + (n % 4) * 500 })),
      );
    fc.assert(
      fc.property(anyTicks, fc.infiniteStream(fc.nat()), (ticks, order) => {
        const shuffled = ticks
          .map((tick) => ({ tick, place: order.next().value }))
          .toSorted((a, b) => a.place - b.place)
          .map(({ tick }) => tick);
        const groups = groupTicks(ticks);
        expect(groupTicks(shuffled)).toEqual(groups);
        expect(idsOf(groups).flat().toSorted()).toEqual(
          ticks.map((tick) => tick.result_id).toSorted(),
        );
        for (const group of groups) {
          expect(group.length).toBeLessThanOrEqual(MAX_TICKS_PER_MESSAGE);
          expect(new Set(group.map((tick) => tick.location_id)).size).toBe(1);
        }
      }),
    );
  });
});

describe("a tick from the wire", () => {
  it("may lack every field that was added since protocol 2: a new one is optional", () => {
    const older: unknown = {
      result_id: "r1",
      trigger: "SCHEDULE",
      trigger_time: DUE,
      due_time: DUE,
      latest_start: DUE,
      deployment_id: null,
      location_id: "paris",
      context: {},
      calls: [
        {
          result_id: "r2",
          call_id: "c1",
          name: "home",
          domain: "h.test",
          tags: [],
          request: {
            method: "GET",
            url: "http://h.test/",
            parameters: [{ key: "page", value: "1" }],
            headers: [{ key: "Accept", value: "*/*" }],
            body: null,
          },
        },
      ],
      workflow: {
        workflow_id: "w1",
        name: "Order",
        stop_on_failure: true,
        handle_cookies: false,
        between_calls_delay: 0,
      },
    };
    expect(tickValidator.faults(older)).toEqual([]);
  });

  it("may hold fields of a newer hub", () => {
    const tick = {
      ...aTick(1),
      priority: 5,
      calls: [{ ...aTick(1).calls[0], retries: 2 }],
    };
    expect(tickValidator.parse(tick)).toEqual(tick);
  });

  it.each([
    ["no calls", { calls: [] }],
    ["no location", { location_id: undefined }],
    ["a due time in words", { due_time: "2026-10-01" }],
    ["an unknown trigger", { trigger: "WHIM" }],
  ])("is refused with %s", (_, change) => {
    const tick: unknown = JSON.parse(JSON.stringify({ ...aTick(1), ...change }));
    expect(tickValidator.accepts(tick)).toBe(false);
  });
});
