// The call overviews, on both databases: the same numbers as the statistics, and the same rights as
// the lists.
import { describe, expect, it } from "vitest";
import { createCall, startApi } from "../support/api.ts";
import type { Caller, List, TestApi } from "../support/api.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { seedCalls } from "../support/many-calls.ts";
import type { Outcome } from "../support/runs.ts";
import { storeKinds } from "../support/stores.ts";
import { deploy, record } from "./call-runs.ts";

/** Late in the day, so that the last 24 hours are those of this day. */
const NOW = Date.UTC(2026, 10, 20, 23, 30);
const HOUR = 3_600_000;

interface Overview {
  readonly id: string;
  readonly name: string;
  readonly locations: readonly string[];
  readonly state: Readonly<Record<string, unknown>> | null;
  readonly day: {
    readonly time: string;
    readonly count: number;
    readonly pass_percent: number | null;
    readonly p50: number | null;
    readonly p95: number | null;
    readonly missed: number;
    readonly hours: Readonly<Record<"pass" | "warning" | "fail" | "missed", readonly number[]>>;
  } | null;
}

const overview = async ({ send }: TestApi, as: Caller): Promise<readonly Overview[]> => {
  const { status, body } = await send<List<Overview>>({ path: "/calls/overview/", as });
  expect(status).toBe(200);
  return body.results;
};

const OUTCOMES: readonly Outcome[] = [
  { start: NOW - 24 * HOUR, result: "CONNECTION_ERROR" }, // an hour of the day before
  { start: NOW - 23 * HOUR, total: 100 },
  { start: NOW - 23 * HOUR + 1, total: 900, location_id: "far" },
  { start: NOW - 5 * HOUR, result: "HTTP_CLIENT_ERROR", total: 30 },
  { start: NOW - 4 * HOUR, result: "HTTP_SERVER_ERROR", total: 5000 },
  { start: NOW - 3 * HOUR, result: "MISSED" },
  { start: NOW - 3 * HOUR, result: "UNABLE_TO_RUN" },
  { start: NOW, total: 150, location_id: "far" },
];

describe.each(storeKinds)("the call overview on %s", (storeKind) => {
  it("matches each call's statistics", async () => {
    await using api = await startApi({ storeKind, clock: createManualClock(NOW) });
    const { id } = await createCall(api, { meta: { name: "shown", tags: ["a"] } });
    const idle = await createCall(api);
    let last = "";
    for (const outcome of OUTCOMES) last = await record(api, id, outcome);
    const [found, none] = await overview(api, api.ann);
    const stats = await api.send({ path: `/calls/${id}/stats/?kind=DAY&time=2026-11-20` });
    const { stat, adv_stat } = stats.body as unknown as Record<"stat" | "adv_stat", object>;
    expect(found?.day).toMatchObject({ count: (stat as { count: number }).count });
    const { p50, p95, missed, pass_percent } = adv_stat as NonNullable<Overview["day"]>;
    expect(found?.day).toMatchObject({ p50, p95, missed, pass_percent, count: 5 });
    const at = (...entries: readonly (readonly [number, number])[]): number[] =>
      Array.from({ length: 24 }, (_, hour) => new Map(entries).get(hour) ?? 0);
    expect(found?.day?.hours).toEqual({
      pass: at([0, 2], [23, 1]),
      warning: at([18, 1]),
      fail: at([19, 1]),
      missed: at([20, 1]),
    });
    expect(found).toMatchObject({
      id,
      name: "shown",
      tags: ["a"],
      method: "GET",
      domain: "target.test",
      owner: "ann",
      state: {
        result_id: last,
        result: "COMPLETE",
        result_category: "PASS",
        latency: 150,
        location_id: "far",
        time: "2026-11-20T23:30:00.000000Z",
      },
    });
    expect(none).toMatchObject({
      id: idle.id,
      state: null,
      day: { time: "2026-11-20T00:00:00Z", count: 0, pass_percent: null, p50: null, missed: 0 },
    });
  });

  it("leaves out the hour that begins while it is read", async () => {
    await using api = await startApi({ storeKind, clock: createManualClock(NOW) });
    const { id } = await createCall(api);
    for (const start of [NOW, NOW + HOUR / 2]) await record(api, id, { start });
    const [found] = await overview(api, api.ann);
    expect(found?.day?.count).toBe(1);
    expect(found?.day?.hours.pass).toHaveLength(24);
  });

  it("shows the last result as the state, however old", async () => {
    await using api = await startApi({ storeKind, clock: createManualClock(NOW) });
    const { id } = await createCall(api);
    for (const days of [40, 60]) {
      await record(api, id, { start: NOW - days * 24 * HOUR, result: "HTTP_SERVER_ERROR" });
      const [found] = await overview(api, api.ann);
      expect(found).toMatchObject({ state: { result: "HTTP_SERVER_ERROR" }, day: { count: 0 } });
    }
  });

  it("lists the same calls as /calls/, with the parts shared with the reader", async () => {
    await using api = await startApi({ storeKind, clock: createManualClock(NOW) });
    const [bob, own, colleague] = [
      await api.caller("bob"),
      await api.caller("ann", "shop"),
      await api.caller("eve", "shop", "VIEWER"),
    ];
    const makes = (name: string, access: object, as?: Caller) =>
      createCall(api, { meta: { name }, access }, as);
    const calls = [
      await makes("closed", {}),
      await makes("settings", { settings: true }),
      await makes("results", { settings: true, results: true }),
      await makes("stats", { settings: true, stats: true }),
      await makes("results only", { results: true, stats: true }),
      await makes("org", { org: true }, own),
    ];
    for (const { id } of calls) await record(api, id, {});
    const parts = async (as: Caller): Promise<unknown[]> =>
      (await overview(api, as)).map(({ name, state, day }) => [name, state !== null, day !== null]);
    expect(await parts(bob)).toEqual([
      ["settings", false, false],
      ["results", true, false],
      ["stats", false, true],
    ]);
    expect(await parts(colleague)).toContainEqual(["org", true, true]);
    for (const as of [api.ann, bob, own, colleague]) {
      const listed = await api.send<List>({ path: "/calls/", as });
      const shown = await overview(api, as);
      expect(shown.map(({ id }) => id)).toEqual(listed.body.results.map(({ id }) => id));
    }
  });

  it("shows a reader the locations of their own deployments, and the owner all", async () => {
    await using api = await startApi({ storeKind });
    const [own, colleague] = [await api.caller("ann", "shop"), await api.caller("eve", "shop")];
    const { id } = await createCall(api, { access: { org: true } }, own);
    await deploy(api, id, "local", own);
    await deploy(api, id, "far", colleague);
    expect((await overview(api, own))[0]?.locations).toEqual(["far", "local"]);
    expect((await overview(api, colleague))[0]?.locations).toEqual(["far"]);
  });

  it("shows readers of statistics where an undeployed call ran", async () => {
    await using api = await startApi({ storeKind, clock: createManualClock(NOW) });
    const { id } = await createCall(api, { access: { settings: true } });
    await record(api, id, { start: NOW - 25 * HOUR, location_id: "past" });
    await record(api, id, { start: NOW - HOUR, location_id: "near" });
    await record(api, id, { start: NOW, location_id: "far", result: "MISSED" });
    await record(api, id, { start: NOW, location_id: "near" });
    expect((await overview(api, api.ann))[0]?.locations).toEqual(["far", "near"]);
    expect((await overview(api, await api.caller("bob")))[0]?.locations).toEqual([]);
    await deploy(api, id, "local");
    expect((await overview(api, api.ann))[0]?.locations).toEqual(["local"]);
  });

  it("pages through the calls in creation order, each once", async () => {
    await using api = await startApi({ storeKind, clock: createManualClock(NOW) });
    const ids = await seedCalls(api.store, { count: 120, hours: 1, now: NOW });
    const found: string[] = [];
    for (let cursor = ""; ;) {
      const path = `/calls/overview/?limit=50${cursor && `&cursor=${cursor}`}`;
      const { body } = await api.send<List<Overview>>({ path });
      found.push(...body.results.map(({ id }) => id));
      expect(body.results.every(({ state }) => state !== null)).toBe(true);
      if (!body.meta.more) break;
      cursor = body.meta.next_cursor;
    }
    expect(found).toEqual(ids.toSorted());
  });
});
