// The content of exports, on both databases: the same as the lists, and nothing else.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exportedResults } from "../../src/api/exported-rows.ts";
import type { Result } from "../../src/model/result.ts";
import { createCall, create, startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { parseCsv } from "../support/csv.ts";
import { aReport, aRun, T0 } from "../support/runs.ts";
import type { Outcome } from "../support/runs.ts";
import { connect, storeKinds } from "../support/stores.ts";

/** The fields of results and statistics that the tests read. */
interface Line {
  readonly id: string;
  readonly time: string;
  readonly meta: Readonly<Record<"result" | "due_time", string>> & {
    readonly start_time: string | null;
  };
  readonly adv_stat: { readonly p50: number | null } | null;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** In order of time: some are two days apart, and two are at the same time. */
const OUTCOMES: readonly (Outcome & { readonly location_id: string })[] = [
  { location_id: "local", start: T0 },
  { location_id: "far", start: T0, result: "HTTP_SERVER_ERROR" },
  { location_id: "local", start: T0 + HOUR, result: "MISSED" },
  { location_id: "local", start: T0 + 2 * DAY, result: "CONNECTION_ERROR" },
  { location_id: "far", start: T0 + 2 * DAY + 1, total: 80 },
  { location_id: "local", start: T0 + 40 * DAY, result: "HTTP_CLIENT_ERROR" },
];

const RESPONSE = {
  status_code: 200,
  status_string: "OK, all right",
  headers: [{ key: "Server", value: "=1" }],
};

/** Lists the fields by dotted name, as text. */
function fieldsOf(value: unknown, name = ""): [name: string, text: string][] {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return Object.entries(value).flatMap(([key, inner]) =>
      fieldsOf(inner, name === "" ? key : `${name}.${key}`),
    );
  return [
    [name, typeof value === "string" ? value : JSON.stringify(value ?? "").replace('""', "")],
  ];
}

async function removeResultsBefore({ database }: TestApi, time: number): Promise<void> {
  await using raw = connect(database).kysely;
  await raw.deleteFrom("results").where("time", "<", time).execute();
}

describe.each(storeKinds)("exports on %s", (storeKind) => {
  let api: TestApi;
  let id = "";

  beforeAll(async () => {
    api = await startApi({ storeKind });
    id = (await createCall(api, { meta: { name: "=1+1" } })).id;
    for (const outcome of OUTCOMES) await record(id, outcome);
    // Has no outcome yet, so it is in no export.
    await api.store.pendingRuns.insert([aRun({ target_id: id, due_time: T0 + 3 * HOUR })]);
  });
  afterAll(() => api[Symbol.asyncDispose]());

  async function record(target_id: string, outcome: Outcome) {
    const { start: due_time = T0, location_id = "local" } = outcome;
    const run = aRun({ target_id, due_time, location_id });
    await api.store.pendingRuns.insert([run]);
    if (outcome.result === "MISSED")
      await api.store.results.recordUnreported([{ run, result: "MISSED", message: "late" }]);
    else {
      const report = aReport(run, outcome);
      const results = report.results.map((result) => ({ ...result, response: RESPONSE }));
      await api.store.results.record([{ ...report, results }]);
    }
    return run;
  }

  async function linesOf(path: string): Promise<Line[]> {
    const { status, text, headers } = await api.send({ path });
    expect(status, text).toBe(200);
    expect(headers["content-type"]).toBe("application/x-ndjson");
    return text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line);
  }

  async function listed(path: string): Promise<Line[]> {
    const { body } = await api.send<{ results?: Line[]; stats?: Line[] }>({ path });
    return body.results ?? body.stats ?? [];
  }

  const timeOf = ({ meta }: Line): string => meta.start_time ?? meta.due_time;

  it.each([
    "",
    "type=ALL",
    "type=COMPLETE",
    "type=MISSED",
    "category=FAIL",
    "category=NONE",
    "category=PASS&type=MISSED",
    "location_id=far",
    "location_id=far&category=FAIL",
    `from=2026-10-01T12:00:00Z&to=2026-10-01T13:00:00Z`,
    "from=2026-10-01T12:30:00Z",
    "to=2026-10-03T12:00:00Z&category=FAIL",
    "from=2026-12-24",
  ])("have the results that the list has, in the order of their times: %s", async (query) => {
    const list = await listed(`/calls/${id}/results/?limit=1000&${query}`);
    const recorded = list.filter(({ meta }) => meta.result !== "QUEUED");
    const expected = recorded.toSorted((a, b) => (timeOf(a) + a.id < timeOf(b) + b.id ? -1 : 1));
    const path = `/calls/${id}/results/export?${query}`;
    expect(await linesOf(`${path}&format=ndjson`)).toEqual(expected);
    expect(await linesOf(`${path}&format=ndjson&order=desc`)).toEqual(expected.toReversed());
    const csv = parseCsv((await api.send({ path })).text);
    expect(csv.map((record) => record["id"])).toEqual(expected.map((each) => each.id));
  });

  it("have a column for each field, and a file name", async () => {
    const [result] = await linesOf(`/calls/${id}/results/export?format=ndjson`);
    const { headers, text } = await api.send({ path: `/calls/${id}/results/export` });
    expect(headers).toMatchObject({
      "content-type": "text/csv; charset=utf-8; header=present",
      "content-disposition": `attachment; filename="results-${id}.csv"`,
      "cache-control": "no-store",
    });
    const [record = {}] = parseCsv(text);
    const { certificate: _none, ...shown } = result as Line & { certificate: unknown };
    expect(record).toMatchObject(Object.fromEntries(fieldsOf(shown)));
    expect(Object.keys(record)).toContain("certificate.expiry");
  });

  it.each(["HOUR", "DAY", "WEEK", "MONTH", "YEAR", "RAW"])("have statistics: %s", async (kind) => {
    for (const type of ["ALL", "COMPLETE", "MISSED", "SLA_ERROR"])
      for (const where of ["", "&location_id=far"]) {
        const query = `kind=${kind}&type=${type}${where}`;
        const expected = await listed(`/calls/${id}/stats/since?time=2020-01-01&${query}`);
        const path = `/calls/${id}/stats/export?${query}`;
        expect(await linesOf(`${path}&format=ndjson`), query).toEqual(expected);
        const csv = parseCsv((await api.send({ path })).text);
        expect(csv.map(({ time }) => time)).toEqual(expected.map(({ time }) => time));
        if (kind !== "RAW")
          expect(csv.map((each) => each["adv_stat.p50"])).toEqual(
            expected.map(({ adv_stat }) => String(adv_stat?.p50 ?? "")),
          );
      }
  });

  it("contain the periods between `from` and `to`", async () => {
    const timesIn = async (query: string): Promise<unknown[]> =>
      (await linesOf(`/calls/${id}/stats/export?format=ndjson&${query}`)).map(({ time }) => time);
    expect(await timesIn("from=2026-10-03T23:00:00Z&to=2026-11-10")).toEqual([
      "2026-10-03T00:00:00Z",
    ]);
    expect(await timesIn("kind=MONTH&from=2026-10-31&to=2026-11-01T00:00:00.001Z")).toEqual([
      "2026-10-01T00:00:00Z",
      "2026-11-01T00:00:00Z",
    ]);
    expect(
      await timesIn("kind=RAW&from=2026-10-01T12:00:00.001Z&to=2026-10-03T12:00:00.001Z"),
    ).toEqual(["2026-10-03T12:00:00.000000Z"]);
    expect(await timesIn("from=2026-10-01T12:00:00Z&to=2026-10-01T12:00:00Z")).toHaveLength(1);
  });

  it("have the statistics of a report's rows, by group and row", async () => {
    const groups = [
      {
        name: "both",
        rows: [
          { call_id: id, location_id: "far" },
          { call_id: id, location_id: "" },
        ],
      },
      { name: "again", rows: [{ call_id: id, location_id: "far" }] },
    ];
    const report = await create(api, "/reports/", { meta: { name: "r" }, groups });
    const far = await listed(`/calls/${id}/stats/since?time=2020-01-01&location_id=far`);
    const local = await listed(`/calls/${id}/stats/since?time=2020-01-01&location_id=local`);
    const of = (group: string, location_id: string, stats: Line[]) =>
      stats.map((stat) => ({ group, call_id: id, name: "=1+1", location_id, ...stat }));
    const path = `/reports/${report.id}/export`;
    expect(await linesOf(`${path}?format=ndjson`)).toEqual([
      ...of("both", "far", far),
      ...of("both", "local", local),
      ...of("again", "far", far),
    ]);
    const csv = parseCsv((await api.send({ path })).text);
    expect(csv).toHaveLength(2 * far.length + local.length);
    expect(csv[0]).toMatchObject({ group: "both", name: "'=1+1", location_id: "far", count: "1" });
  });

  it("contain each result once, even if replaced or recorded during the export", async () => {
    const call = (await createCall(api)).id;
    const missed = await record(call, { start: T0, result: "MISSED" });
    await record(call, { start: T0 + 1 });
    const pages = exportedResults(api.store, call, {}, { limit: 2 });
    const first = ((await pages.next()).value ?? []) as readonly Result[];
    // A late result whose new time the export has not reached yet.
    await api.store.results.record([aReport(missed, { start: T0 + 20_000 })]);
    await record(call, { start: T0 + 60_000 });
    const ids = first.map((result) => result.id);
    for await (const page of pages) ids.push(...page.map((result) => result.id));
    expect(ids[0]).toBe(missed.result_id);
    expect([ids.length, new Set(ids).size]).toEqual([3, 3]);
  });

  it("of MISSED results contain none that is replaced before it is read", async () => {
    const call = (await createCall(api)).id;
    const late = await record(call, { start: T0, result: "MISSED" });
    const missed = await record(call, { start: T0 + 1, result: "MISSED" });
    const { results } = api.store;
    const getMany = async (ids: readonly string[]) => {
      await results.record([aReport(late)]);
      return results.getMany(ids);
    };
    const store = { ...api.store, results: { ...results, getMany } };
    const ids: string[] = [];
    for await (const page of exportedResults(store, call, { codes: ["MISSED"] }, { limit: 2 }))
      ids.push(...page.map((result) => result.id));
    expect(ids).toEqual([missed.result_id]);
  });

  it("contain the remaining results where only old statistics are kept", async () => {
    const call = (await createCall(api)).id;
    for (let hour = 0; hour < 60; hour += 1)
      await record(call, { start: T0 + hour * HOUR, result: "HTTP_SERVER_ERROR" });
    const query = { call_id: call, location_id: null };
    const left = await api.store.stats.raw(
      query,
      ["HTTP_SERVER_ERROR"],
      { time: T0 + 50 * HOUR, afterId: null },
      "forwards",
      10,
    );
    await removeResultsBefore(api, T0 + 50 * HOUR);
    for (const order of ["asc", "desc"]) {
      const path = `/calls/${call}/results/export?format=ndjson&category=FAIL&order=${order}`;
      const expected = left.map((entry) => entry.id);
      expect((await linesOf(path)).map((line) => line.id)).toEqual(
        order === "asc" ? expected : expected.toReversed(),
      );
    }
  });

  it.each([
    ["results/export?format=xml", "format: 'xml' is not one of ['csv', 'ndjson']"],
    ["results/export?type=GREEN", "type: 'GREEN' is not one of ['ALL', "],
    ["results/export?from=2026-10-02&to=2026-10-01", "is later than to: '2026-10-01T"],
    ["stats/export?from=2026-10-02&to=2026-10-01", "is later than to: '2026-10-01T"],
    ["stats/export?kind=MINUTE", "kind: 'MINUTE' is not one of ['HOUR', "],
    ["stats/export?location_id=moon", "location_id: 'moon' is not one of ['local', 'far']"],
    ["stats/export?to=soon", "to: 'soon' is not an ISO 8601 date or date-time"],
  ])("refuse %s before anything is sent", async (path, message) => {
    const { status, body, headers } = await api.send({ path: `/calls/${id}/${path}` });
    expect([status, headers["content-disposition"]]).toEqual([400, undefined]);
    expect(body["error_msg"]).toContain(message);
  });
});
