import { StatementSync } from "node:sqlite";
import { expect, it, vi } from "vitest";
import { createCall, sharedApi, startApi } from "../support/api.ts";
import type { Caller, Json, TestApi } from "../support/api.ts";
import { storeInsight, WEEK, WEEK_MS } from "../support/insights.ts";
import type { GivenInsight } from "../support/insights.ts";
import { createManualClock } from "../support/manual-clock.ts";

const api = sharedApi();

const NOW = Date.UTC(2026, 9, 8, 12);
const startAt = (now: number): Promise<TestApi> => startApi({ clock: createManualClock(now) });

/** Creates a call of ann's with reports; returns its id. */
async function reported(
  on: TestApi,
  name: string,
  ...reports: readonly Omit<GivenInsight, "call_id">[]
): Promise<string> {
  const { id } = await createCall(on, { meta: { name } });
  for (const report of reports) await storeInsight(on.store, { call_id: id, ...report });
  return id;
}

interface List {
  readonly meta: { readonly more: boolean; readonly next_cursor: string };
  readonly results: readonly Json[];
}

const get = async <T = Json>(on: TestApi, path: string, as?: Caller): Promise<T> => {
  const { status, body, text } = await on.send<T>({ path, ...(as && { as }) });
  if (status !== 200) throw new Error(text);
  return body;
};

it("lists reports in order of creation, page by page", async () => {
  await using on = await startAt(NOW);
  const week = { start: WEEK };
  const a = await reported(on, "a", { ...week, failed: 3 }, { kind: "MONTH", start: WEEK });
  const b = await reported(on, "b", week);
  await storeInsight(on.store, { call_id: a, ...week, failed: 2, slow: 1 });
  const { meta, results } = await get<List>(on, "/insights/");
  expect(meta).toEqual({ more: false, next_cursor: "" });
  expect(results[0]).toEqual({
    id: `${a}__2026-09-21__2026-09-28`,
    call_id: a,
    domain: "target.test",
    name: "a",
    start_date: "2026-09-21T00:00:00.000000Z",
    end_date: "2026-09-28T00:00:00.000000Z",
    report_type: 1,
    made: 103,
    score: 821,
    rank: 2,
    pass_percent: expect.closeTo(10_100 / 103, 9),
    outlier_percent: expect.closeTo(100 / 101, 9),
    mean_test_length: expect.closeTo(10_900 / 101, 9),
    sd_test_length: expect.closeTo(79.2, 1),
    version: "v4",
  });
  expect(results.map(({ call_id, report_type }) => [call_id, report_type])).toEqual([
    [a, 1],
    [a, 0],
    [b, 1],
  ]);
  const first = await get<List>(on, "/insights/?limit=2");
  expect([first.meta.more, first.results]).toEqual([true, results.slice(0, 2)]);
  const second = `/insights/?limit=2&cursor=${first.meta.next_cursor}`;
  expect((await get<List>(on, second)).results).toEqual(results.slice(2));

  const ids = async (query: string): Promise<unknown[]> =>
    (await get<List>(on, `/insights/${query}`)).results.map(({ id }) => id);
  const all = results.map(({ id }) => id);
  expect(await ids(`?call_id=${a}`)).toEqual(all.slice(0, 2));
  expect(await ids(`?call_id=${a}&weekly=true`)).toEqual(all.slice(0, 1));
  expect(await ids("?weekly=f")).toEqual(all.slice(1, 2));
  expect(await ids("?weekly=")).toEqual(await ids(""));
  expect(await ids("?call_id=none")).toEqual([]);
});

it("reads a page in a fixed number of statements", async () => {
  await using on = await startAt(NOW);
  const count = async (path: string): Promise<number> => {
    const statements = vi.spyOn(StatementSync.prototype, "all");
    await get(on, path);
    const { length } = statements.mock.calls;
    statements.mockRestore();
    return length;
  };
  const counts = async (): Promise<number[]> => [
    await count("/insights/"),
    await count("/insights/rank/?weekly=1"),
  ];
  await reported(on, "a", { start: WEEK });
  const few = await counts();
  for (let n = 0; n < 6; n += 1)
    await reported(on, `b${n}`, { start: WEEK - n * WEEK_MS }, { start: WEEK + WEEK_MS });
  expect(await counts()).toEqual(few);
  expect(Math.min(...few)).toBeGreaterThan(0);
});

it.each(["/insights/", "/insights/rank/", "/insights/call/none/"])(
  "refuses query values of %s that mean nothing",
  async (path) => {
    for (const value of ["maybe", "constructor", "__proto__"]) {
      const { status, body } = await api.send({ path: `${path}?weekly=${value}` });
      expect([status, body["error_msg"]]).toEqual([
        400,
        `weekly: '${value}' is not one of ['true', 't', '1', 'false', 'f', '0']`,
      ]);
    }
  },
);

it("refuses cursors of other lists", async () => {
  await reported(api, "a", {}, { start: WEEK + WEEK_MS });
  const { meta } = await get<List>(api, "/insights/?limit=1");
  for (const cursor of ["x", meta.next_cursor])
    expect((await api.send({ path: `/insights/?weekly=1&cursor=${cursor}` })).status).toBe(400);
});

it.each([
  ["", "2026-02-01", "monthly"],
  ["?weekly=false&reverse=1", "2026-02-01", "monthly"],
  ["?weekly=true", "2026-08-10", "weekly"],
  ["?weekly=T&inc_org=t", "2026-08-10", "weekly"],
  ["?weekly=1", "2026-08-10", "weekly"],
])(
  "ranks the previous 8 closed periods with rank/%s: since %s, %s",
  async (query, start, period) => {
    await using on = await startAt(NOW);
    const { body } = await on.send({ path: `/insights/rank/${query}` });
    expect(body).toEqual({ meta: { start, period }, results: [] });
  },
);

it("compares the time of a call only with that of the period right before", async () => {
  await using on = await startAt(NOW);
  const last = WEEK + WEEK_MS;
  await reported(on, "in a row", { start: WEEK }, { start: last });
  await reported(on, "after a gap", { start: WEEK - WEEK_MS }, { start: last });
  const { results } = await get<List>(on, "/insights/rank/?weekly=1");
  const before = results.map((call) => [call["api_name"], call["mean_test_length_before"]]);
  expect(Object.fromEntries(before)).toEqual({ "in a row": 100, "after a gap": null });
});

it("ranks calls by their most recent report, those without a score last", async () => {
  await using on = await startAt(NOW);
  const last = WEEK + WEEK_MS;
  const better = await reported(on, "b", { start: WEEK, failed: 9 }, { start: last });
  const equal = await reported(on, "a", { start: last });
  const worse = await reported(on, "c", { start: WEEK - 6 * WEEK_MS, failed: 5 });
  const few = await reported(on, "few", { start: last, passed: 5 });
  await reported(on, "too old", { start: WEEK - 7 * WEEK_MS });
  await reported(on, "not closed", { start: WEEK + 2 * WEEK_MS });
  await reported(on, "monthly", { start: Date.UTC(2026, 8, 1), kind: "MONTH" });
  const { results } = await get<List>(on, "/insights/rank/?weekly=1");
  expect(results.map(({ id }) => id)).toEqual([equal, better, worse, few]);
  expect(results.map(({ band }) => band)).toEqual(["good", "good", "fair", null]);
  const reversed = await get<List>(on, "/insights/rank/?weekly=1&reverse=t");
  expect(reversed.results.map(({ id }) => id)).toEqual([worse, equal, better, few]);
  const ids = [`${better}__2026-09-21__2026-09-28`, `${better}__2026-09-28__2026-10-05`];
  expect(results[1]).toEqual({
    id: better,
    insights_id: ids[1],
    api_name: "b",
    api_url: "https://target.test/path",
    url: "https://target.test/path",
    made: 100,
    score: 999,
    pass_percent: 100,
    outlier_percent: 0,
    mean_test_length: 100,
    mean_test_length_before: 100,
    sd_test_length: 0,
    band: "good",
    results: [
      ["2026-09-21T00:00:00.000000Z", 460],
      ["2026-09-28T00:00:00.000000Z", 999],
    ],
    filenames: ids,
    most_recent: "2026-09-28T00:00:00.000000Z",
  });
  const months = await get<List>(on, "/insights/rank/");
  expect(months.results.map(({ api_name }) => api_name)).toEqual(["monthly"]);
});

it("answers with the latest report of each kind, or {} without one", async () => {
  const id = await reported(api, "a");
  const latest = (query = "") => get(api, `/insights/call/${id}/${query}`);
  expect([await latest(), await latest("?weekly=1")]).toEqual([{}, {}]);
  await storeInsight(api.store, { call_id: id, start: WEEK + WEEK_MS });
  await storeInsight(api.store, { call_id: id, start: WEEK });
  expect(await latest()).toEqual({});
  const { results } = await get<List>(api, `/insights/?call_id=${id}&limit=1`);
  expect(await latest("?weekly=1")).toEqual(results[0]);
});

it("answers with a report in full, and what changed since the period before", async () => {
  const id = await reported(api, "a", { start: WEEK - WEEK_MS, failed: 10, slow: 1 });
  const outlier = { result_id: "r", time: WEEK + 1500, location_id: "local", latency: 900 };
  const hour = { time: WEEK, made: 2, passed: 0, mean_test_length: null };
  const details = { missed: 4, outliers: [outlier], worst_hours: [hour] };
  const reportId = await storeInsight(api.store, {
    call_id: id,
    passed: 95,
    failed: 3,
    slow: 2,
    details,
  });
  const report = await get(api, `/insights/${reportId}/`);
  const { results } = await get<List>(api, `/insights/?call_id=${id}`);
  expect(report).toMatchObject({ ...(results[1] as object) });
  const { parts, change } = report;
  expect(report).toMatchObject({
    band: "fair",
    missed: 4,
    failures: [{ result: "HTTP_SERVER_ERROR", count: 3 }],
    outliers: [{ ...outlier, time: "2026-09-21T00:00:01.500000Z" }],
    worst_hours: [{ ...hour, time: "2026-09-21T00:00:00.000000Z" }],
    locations: [{ location_id: "local", made: 100, passed: 97, q1: 100, outlier_from: 110 }],
  });
  const share = 2 / 97;
  expect(parts).toEqual({
    availability: {
      value: expect.closeTo(0.97 ** 9, 9),
      points: 240,
      made: 100,
      passed: 97,
      share: 0.97,
      sentence:
        "Availability cost 240 points: 3 of 100 calls failed, all of them HTTP_SERVER_ERROR; the week before, 10 of 111 failed.",
    },
    outliers: {
      value: expect.closeTo((1 - share) ** 2, 9),
      points: 31,
      passed: 97,
      outliers: 2,
      share: expect.closeTo(share, 9),
      sentence:
        "Outliers cost 31 points: 2 of 97 calls that passed took unusually long, up to 900 ms; the week before, 1 did.",
    },
    consistency: {
      value: 1,
      points: 0,
      variation: 0,
      sentence:
        "Consistency cost no points: usual times varied by 0 % of their mean; the week before, by 0 %.",
    },
  });
  const [before] = results;
  expect(change).toEqual({
    insights_id: `${id}__2026-09-14__2026-09-21`,
    score: Number(report["score"]) - Number(before?.["score"]),
    rank: Number(report["rank"]) - Number(before?.["rank"]),
    pass_percent: expect.closeTo(97 - 10_100 / 111, 9),
    outlier_percent: expect.closeTo(200 / 97 - 100 / 101, 9),
    mean_test_length: expect.any(Number),
    sd_test_length: expect.any(Number),
  });
  const first = await get(api, `/insights/${id}__2026-09-14__2026-09-21/`);
  expect(first["change"]).toBeNull();
});

const NO_TIMES = { outlier_percent: null, mean_test_length: null, sd_test_length: null };

it.each([
  [
    "a period in which no call passed",
    { passed: 0, failed: 100 },
    { pass_percent: -99, ...NO_TIMES },
  ],
  ["a period in which no call was made", { passed: 0 }, { pass_percent: null, ...NO_TIMES }],
])("compares no measure of calls that there were not: %s", async (_, without, expected) => {
  const rest = { start: WEEK - WEEK_MS, passed: 98, slow: 1, failed: 1 };
  const id = await reported(api, "a", rest, without, { ...rest, start: WEEK + WEEK_MS });
  const { change: lost } = await get(api, `/insights/${id}__2026-09-21__2026-09-28/`);
  expect(lost).toMatchObject(expected);
  const { change: regained } = await get(api, `/insights/${id}__2026-09-28__2026-10-05/`);
  const pass_percent = expected.pass_percent && -expected.pass_percent;
  expect(regained).toMatchObject({ ...expected, pass_percent });
});

it("finds no report of a call that was deleted, has none, or is another's", async () => {
  const id = await reported(api, "a");
  const reportId = await storeInsight(api.store, { call_id: id });
  const ann = { owner: "ann", org: null };
  const eve = await api.caller("eve");
  const sameName = await api.caller(ann.owner, "shop");
  const missing = async (path: string, as?: Caller): Promise<void> => {
    const { status, body } = await api.send({ path, ...(as && { as }) });
    expect([status, body]).toEqual([404, { error_msg: "Insights report not found", error: 404 }]);
  };
  await missing(`/insights/${reportId}/`, eve);
  await missing(`/insights/${reportId}/`, sameName);
  for (const path of ["none", `${id}__2026-09-14__2026-09-21`, `${id}__2026-09-21__2026-09-29`])
    await missing(`/insights/${path}/`);
  expect((await get<List>(api, "/insights/", sameName)).results).toEqual([]);
  expect((await api.send({ path: `/insights/call/${id}/`, as: eve })).status).toBe(404);

  await api.send({ method: "DELETE", path: `/calls/${id}/` });
  await storeInsight(api.store, { call_id: id });
  await missing(`/insights/${reportId}/`);
  const { text } = await api.send({ path: "/insights/?limit=1000" });
  expect(text).not.toContain(id);
});

it("shows the reports of a call while its statistics are shared", async () => {
  const eve = await api.caller("eve");
  const id = await reported(api, "shared", {});
  const share = (access: object) =>
    api.send({ method: "PUT", path: `/calls/${id}/`, body: { access } });
  const isShown = async (): Promise<boolean> =>
    (await api.send({ path: "/insights/?limit=1000", as: eve })).text.includes(id);
  await share({ settings: true, results: true });
  expect(await isShown()).toBe(false);
  await share({ stats: true, settings: false });
  expect(await isShown()).toBe(true);
  const { text } = await api.send({ path: "/insights/rank/?weekly=1&inc_org=1", as: eve });
  expect(text).not.toContain(id);
  await share({ stats: false });
  expect(await isShown()).toBe(false);
});
