import { expect, it } from "vitest";
import { HOUR_MS } from "../../src/model/periods.ts";
import { createCall, sharedApi, startApi } from "../support/api.ts";
import type { Answer, Json, TestApi } from "../support/api.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { aReport, aRun } from "../support/runs.ts";
import type { Outcome } from "../support/runs.ts";

const api = sharedApi();

const DAY = 86_400_000;
const NOON = Date.UTC(2026, 9, 1, 12);

interface Stats {
  readonly meta: Readonly<Record<string, unknown>> & {
    readonly next_cursor: string;
  };
  readonly stats: readonly Readonly<Record<string, unknown>>[];
}

/** Creates a call named "a call" with the given results; returns its id. */
async function measured(api: TestApi, outcomes: readonly Outcome[]): Promise<string> {
  const { id } = await createCall(api);
  for (const outcome of outcomes) {
    const { start: due_time = NOON, location_id = "local" } = outcome;
    const run = aRun({ due_time, target_id: id, location_id });
    await api.store.pendingRuns.insert([run]);
    await api.store.results.record([aReport(run, outcome)]);
  }
  return id;
}

const get = (api: TestApi, path: string): Promise<Answer> => api.send({ path });

const THREE: readonly Outcome[] = [
  { total: 100 },
  { total: 300, start: NOON + 60_000 },
  { total: 50, start: NOON + 120_000, result: "HTTP_SERVER_ERROR" },
];

it.each(["/stats/?", "/?kind=DAY&"])(
  "answers calls/<id>%s with the statistics of one period",
  async (path) => {
    const id = await measured(api, THREE);
    const { status, body } = await get(api, `/calls/${id}${path}time=2026-10-01T15:00:00Z`);
    expect([status, body]).toEqual([
      200,
      {
        meta: {
          kind: "DAY",
          call_id: id,
          type: "ALL",
          time: "2026-10-01T00:00:00Z",
          location_id: "__ALL__",
          name: "a call",
        },
        stat: {
          time: "2026-10-01T00:00:00Z",
          count: 3,
          max_latency: 300,
          avg_latency: expect.closeTo(150, 9),
        },
        adv_stat: {
          p50: 100,
          p75: 300,
          p90: 300,
          p95: 300,
          p99: 300,
          missed: 0,
          pass_percent: expect.closeTo(200 / 3, 9),
          phases: {
            dns: null,
            tcp: 1.5,
            handshake: null,
            upload: 0.25,
            processing: 20,
            download: 2,
          },
        },
      },
    ]);
  },
);

it("adds more measures for COMPLETE", async () => {
  const id = await measured(api, THREE);
  const { body } = await get(api, `/calls/${id}/stats?type=COMPLETE&time=2026-10-01`);
  expect(body["stat"]).toEqual({
    time: "2026-10-01T00:00:00Z",
    count: 2,
    max_latency: 300,
    avg_latency: 200,
    min_latency: 100,
    standard_deviation: 100,
    skewness: 0,
  });
});

it.each([
  ["HOUR", "2026-10-01T12:00:00Z"],
  ["DAY", "2026-10-01T00:00:00Z"],
  ["WEEK", "2026-09-28T00:00:00Z"],
  ["MONTH", "2026-10-01T00:00:00Z"],
  ["YEAR", "2026-01-01T00:00:00Z"],
])("normalizes the time to the start of its %s", async (kind, time) => {
  const id = await measured(api, THREE);
  const { body } = await get(api, `/calls/${id}/?kind=${kind}&time=2026-10-01T12:59:59.999Z`);
  expect(body["meta"]).toMatchObject({ kind, time });
  expect(body["stat"]).toMatchObject({ time, count: 3 });
});

it("defaults to the current period, and answers null without runs", async () => {
  await using api = await startApi({ clock: createManualClock(NOON) });
  const id = await measured(api, THREE);
  const { body } = await get(api, `/calls/${id}/stats/?kind=YEAR&time=1999-05-05`);
  expect(body).toMatchObject({
    meta: { time: "1999-01-01T00:00:00Z" },
    stat: null,
    adv_stat: null,
  });
  const now = await get(api, `/calls/${id}/stats/?kind=YEAR`);
  expect(now.body["meta"]?.["time"]).toBe("2026-01-01T00:00:00Z");
});

it.each([
  ["", 3, "__ALL__"],
  ["&location_id=", 3, "__ALL__"],
  ["&location_id=__ALL__", 3, "__ALL__"],
  ["&location_id=far", 1, "far"],
])("counts by location: '%s'", async (query, count, location_id) => {
  const id = await measured(api, [{}, {}, { location_id: "far" }]);
  const { status, body } = await get(api, `/calls/${id}/stats/?time=2026-10-01${query}`);
  expect(status).toBe(200);
  expect(body["meta"]?.["location_id"]).toBe(location_id);
  expect((body["stat"] as Json | null)?.["count"]).toBe(count);
});

const DAYS: readonly Outcome[] = [0, 1, 2, 4, 5].map((day) => ({
  start: NOON + day * DAY,
  total: 100 + day,
}));

it("lists the periods since one, oldest first, page by page", async () => {
  const id = await measured(api, DAYS);
  const path = `/calls/${id}/stats/since?time=2026-10-02&limit=2`;
  const first = await api.send<Stats>({ path });
  expect(first.body.meta).toEqual({
    kind: "DAY",
    call_id: id,
    type: "ALL",
    location_id: "__ALL__",
    name: "a call",
    min_time: "2026-10-02T00:00:00Z",
    max_time: "2026-10-03T00:00:00Z",
    more: true,
    next_cursor: expect.stringMatching(/./),
  });
  expect(first.body.stats).toEqual([
    {
      time: "2026-10-02T00:00:00Z",
      count: 1,
      max_latency: 101,
      avg_latency: 101,
      adv_stat: expect.objectContaining({ p50: 101 }),
    },
    {
      time: "2026-10-03T00:00:00Z",
      count: 1,
      max_latency: 102,
      avg_latency: 102,
      adv_stat: expect.objectContaining({ p50: 102 }),
    },
  ]);
  const second = await api.send<Stats>({
    path: `${path}&cursor=${first.body.meta.next_cursor}`,
  });
  expect(second.body.stats.map((stat) => stat["time"])).toEqual([
    "2026-10-05T00:00:00Z",
    "2026-10-06T00:00:00Z",
  ]);
  expect(second.body.meta).toMatchObject({ more: false, next_cursor: "" });
});

it("lists the periods up to one, newest first, page by page", async () => {
  const id = await measured(api, DAYS);
  const path = `/calls/${id}/stats/before?time=2026-10-05T23:59:59Z&limit=3`;
  const first = await api.send<Stats>({ path });
  expect(first.body.stats.map((stat) => stat["time"])).toEqual([
    "2026-10-05T00:00:00Z",
    "2026-10-03T00:00:00Z",
    "2026-10-02T00:00:00Z",
  ]);
  expect(first.body.meta).toMatchObject({
    min_time: "2026-10-02T00:00:00Z",
    max_time: "2026-10-05T00:00:00Z",
    more: true,
  });
  const second = await api.send<Stats>({
    path: `${path}&cursor=${first.body.meta.next_cursor}`,
  });
  expect(second.body.stats.map((stat) => stat["time"])).toEqual(["2026-10-01T00:00:00Z"]);
  expect(second.body.meta).toMatchObject({ more: false, next_cursor: "" });
});

it.each([
  ["since", [1, 2, 3]],
  ["before", [3, 2, 1]],
])("lists single calls %s an instant, page by page", async (direction, order) => {
  // Two at the same instant: a page may end between them.
  const id = await measured(api, [{ total: 1 }, { total: 2 }, { total: 3, start: NOON + 1 }]);
  const time = direction === "since" ? "2026-10-01T12:00:00Z" : "2026-10-02";
  const path = `/calls/${id}/stats/${direction}?kind=RAW&time=${time}&limit=2`;
  const first = await api.send<Stats>({ path });
  const second = await api.send<Stats>({
    path: `${path}&cursor=${first.body.meta.next_cursor}`,
  });
  const entries = [...first.body.stats, ...second.body.stats];
  expect(entries.map((entry) => entry["latency"])).toEqual(order);
  const result_id = entries.find((entry) => entry["latency"] === 3)?.["result_id"];
  expect((await get(api, `/results/${String(result_id)}/`)).body).toMatchObject({
    meta: { start_time: "2026-10-01T12:00:00.001000Z" },
    timing: { total: 3 },
  });
  expect(entries.find((entry) => entry["latency"] === 3)).toEqual({
    result_id,
    time: "2026-10-01T12:00:00.001000Z",
    latency: 3,
    http_code: 200,
    content_length: 512,
  });
  expect([first.body.meta["more"], second.body.meta["more"]]).toEqual([true, false]);
});

it.each([
  ["since?kind=RAW&time=2026-10-01T12:00:00.000001Z", [2]],
  ["since?kind=RAW&time=2026-10-01T12:00:00.001Z", [2]],
  ["before?kind=RAW&time=2026-10-01T12:00:00.000999Z", [1]],
  ["export?format=ndjson&kind=RAW&from=2026-10-01T12:00:00.000001Z", [2]],
])("counts the microseconds of the time in stats/%s", async (query, latencies) => {
  const id = await measured(api, [{ total: 1 }, { total: 2, start: NOON + 1 }]);
  const { text } = await api.send({ path: `/calls/${id}/stats/${query}` });
  const found = text.matchAll(/"latency":(\d+)/g);
  expect([...found].map(([, latency]) => Number(latency))).toEqual(latencies);
});

it.each(["since?", "before?", "export?format=ndjson&from=2026-09-30T23:59:59.999999Z&"])(
  "finds the period of the last microsecond of a day in stats/%s",
  async (query) => {
    const id = await measured(api, [{ start: NOON - 12 * HOUR_MS - 1 }]);
    const path = `/calls/${id}/stats/${query}kind=DAY&time=2026-09-30T23:59:59.999999Z`;
    const { text } = await api.send({ path });
    expect(text).toContain('"time":"2026-09-30T00:00:00Z"');
  },
);

it.each(["since", "before"])("answers %s with an empty page without results", async (direction) => {
  const { id } = await createCall(api);
  for (const kind of ["RAW", "HOUR", "YEAR"]) {
    const { status, body } = await get(
      api,
      `/calls/${id}/stats/${direction}?kind=${kind}&time=2026-10-01T00:00:00Z`,
    );
    expect(status).toBe(200);
    expect(body).toMatchObject({
      meta: { more: false, next_cursor: "" },
      stats: [],
    });
  }
});

it("answers null for a location without calls", async () => {
  const id = await measured(api, [{}]);
  const { status, body } = await get(api, `/calls/${id}/stats/?time=2026-10-01&location_id=far`);
  expect([status, body["stat"], body["meta"]?.["location_id"]]).toEqual([200, null, "far"]);
});

it("reads kind and type in any letter case", async () => {
  const id = await measured(api, THREE);
  const { body } = await get(api, `/calls/${id}/stats/?kind=day&type=complete&time=2026-10-01`);
  expect(body).toMatchObject({
    meta: { kind: "DAY", type: "COMPLETE" },
    stat: { count: 2 },
  });
});

it.each([
  ["stats/?kind=MINUTE", "kind: 'MINUTE' is not one of ['HOUR', 'DAY', 'WEEK', 'MONTH', 'YEAR']"],
  ["stats/?kind=RAW", "kind: 'RAW' is not one of ['HOUR', 'DAY', 'WEEK', 'MONTH', 'YEAR']"],
  ["?kind=", "kind: '' is not one of ['HOUR', 'DAY', 'WEEK', 'MONTH', 'YEAR']"],
  ["stats/since?kind=x", "kind: 'x' is not one of ['HOUR', 'DAY', 'WEEK', 'MONTH', 'YEAR', 'RAW']"],
  ["stats/?time=yesterday", "time: 'yesterday' is not an ISO 8601 date or date-time"],
  ["stats/since?time=2026-02-30", "time: '2026-02-30' is not an ISO 8601 date or date-time"],
  [
    "stats/since?time=0001-01-01T00:00:00%2B00:01",
    "time: '0001-01-01T00:00:00+00:01' is not within the years 1 to 9999 in UTC",
  ],
  [
    "?kind=DAY&time=9999-12-31T23:59:59-00:01",
    "time: '9999-12-31T23:59:59-00:01' is not within the years 1 to 9999 in UTC",
  ],
  [
    "stats/?time=2026-10-01+00:30+",
    "time: '2026-10-01 00:30 ' is not an ISO 8601 date or date-time",
  ],
  ["stats/since?limit=0", "limit: '0' is not an integer from 1 to 1000"],
  ["stats/since?limit=1001", "limit: '1001' is not an integer from 1 to 1000"],
  ["stats/since?limit=5001", "limit: '5001' is not an integer from 1 to 1000"],
  ["stats/since?kind=RAW&limit=0", "limit: '0' is not an integer from 1 to 5000"],
  ["stats/before?kind=RAW&limit=5001", "limit: '5001' is not an integer from 1 to 5000"],
  ["stats/?location_id=moon", "location_id: 'moon' is not one of ['local', 'far']"],
  ["stats/since?location_id=moon", "location_id: 'moon' is not one of ['local', 'far']"],
  [
    "stats/before?cursor=x",
    "cursor: 'x' is not a cursor of this list with these filters and this order",
  ],
])("refuses %s", async (path, error_msg) => {
  const { id } = await createCall(api);
  const answer = await get(api, `/calls/${id}/${path}`);
  expect([answer.status, answer.body]).toEqual([400, { error_msg, error: 400 }]);
});

it("lists every type when refusing an unknown one", async () => {
  const { id } = await createCall(api);
  const { status, body } = await get(api, `/calls/${id}/stats/?type=GOOD`);
  expect(status).toBe(400);
  expect(body["error_msg"]).toMatch(
    /^type: 'GOOD' is not one of \['ALL', 'COMPLETE', .*'SLA_ERROR'\]$/,
  );
});

it.each(["2026-10-01T00:30:00+01:00", "2026-10-01%2000:30+0100"])(
  "reads the + in a time that is not escaped: %s",
  async (time) => {
    const { id } = await createCall(api);
    const { body } = await get(api, `/calls/${id}/stats/?time=${time}`);
    expect(body["meta"]?.["time"]).toBe("2026-09-30T00:00:00Z");
  },
);

it.each(["0001-01-01", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.9999Z"])(
  "answers at the ends of the calendar: %s",
  async (time) => {
    const { id } = await createCall(api);
    for (const kind of ["HOUR", "WEEK", "YEAR", "RAW"])
      for (const path of ["since", "before"]) {
        const { status, body } = await get(
          api,
          `/calls/${id}/stats/${path}?kind=${kind}&time=${time}`,
        );
        expect(status).toBe(200);
        const year = expect.stringMatching(/^\d{4}-/) as string;
        expect(body).toMatchObject({ meta: { min_time: year, max_time: year } });
      }
  },
);
