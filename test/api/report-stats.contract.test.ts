// The statistics of a report's rows side by side, on both databases: they equal the statistics of
// each call, in the same periods for all rows.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { create, createCall, startApi } from "../support/api.ts";
import type { Caller, TestApi } from "../support/api.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { aReport, aRun, T0 } from "../support/runs.ts";
import type { Outcome } from "../support/runs.ts";
import { storeKinds } from "../support/stores.ts";

const DAY = 86_400_000;
/** 2026-10-05. */
const NOW = T0 + 4 * DAY;

interface Entry {
  readonly stat: { readonly time: string; readonly count: number } | null;
  readonly adv_stat: object | null;
}
interface Row {
  readonly call_id: string;
  readonly name: string;
  readonly location_id: string;
  readonly stats: readonly Entry[];
}
interface ReportStats {
  readonly meta: Readonly<Record<string, unknown>> & {
    readonly periods: readonly string[];
    readonly next_cursor: string;
  };
  readonly groups: readonly {
    readonly name: string;
    readonly rows: readonly Row[];
    readonly totals: readonly Entry[];
  }[];
}

const row = (call_id: string, location_id: string) => ({ call_id, location_id });

describe.each(storeKinds)("the statistics of a report on %s", (storeKind) => {
  let api: TestApi;
  let ann: Caller;
  let eve: Caller;
  const calls: string[] = [];

  beforeAll(async () => {
    api = await startApi({ storeKind, clock: createManualClock(NOW) });
    ann = await api.caller("ann", "org");
    eve = await api.caller("eve");
    for (const access of [{ stats: true }, { results: true }])
      calls.push((await createCall(api, { access, meta: { name: "call" } }, ann)).id);
    const [open = "", hidden = ""] = calls;
    for (const [n, location_id] of ["local", "far", "local", "far"].entries())
      for (const [at, result] of (["COMPLETE", "COMPLETE", "CONNECTION_ERROR"] as const).entries())
        await record(open, {
          location_id,
          result,
          total: 37 * (n + 1) * (at + 2),
          start: T0 + n * DAY,
        });
    await record(open, { location_id: "local", result: "MISSED", start: T0 - DAY });
    await record(hidden, { location_id: "local", total: 5000 });
  });
  afterAll(() => api[Symbol.asyncDispose]());

  async function record(target_id: string, outcome: Outcome & { readonly location_id: string }) {
    const { location_id, start: due_time = T0 } = outcome;
    const run = aRun({ target_id, location_id, due_time });
    await api.store.pendingRuns.insert([run]);
    if (outcome.result === "MISSED")
      await api.store.results.recordUnreported([{ run, result: "MISSED", message: "late" }]);
    else await api.store.results.record([aReport(run, outcome)]);
  }

  const report = async (...groups: readonly (readonly ReturnType<typeof row>[])[]) =>
    (
      await create(
        api,
        "/reports/",
        {
          meta: { name: "r" },
          access: { public: true },
          groups: groups.map((rows, n) => ({ name: `group ${n}`, rows })),
        },
        ann,
      )
    ).id;

  async function stats(id: string, query = "", as = ann): Promise<ReportStats> {
    const path = `/reports/${id}/stats/?${query}`;
    const { status, text, body } = await api.send<ReportStats>({ path, as });
    expect(status, text).toBe(200);
    return body;
  }

  async function fault(id: string, query: string): Promise<unknown> {
    const { status, body } = await api.send({ path: `/reports/${id}/stats?${query}`, as: ann });
    return [status, body["error_msg"]];
  }

  /** Reads them for the same call, period by period; equal except for the order of additions. */
  async function single(query: string, times: readonly string[]): Promise<unknown[]> {
    const entries: unknown[] = [];
    for (const time of times) {
      const path = `/calls/${calls[0]}/stats/?time=${time}&${query}`;
      const { stat, adv_stat } = (await api.send<Entry>({ path, as: ann })).body;
      entries.push({ stat, adv_stat });
    }
    return JSON.parse(JSON.stringify(entries), (_, value: unknown) =>
      typeof value === "number" ? (expect.closeTo(value, 6) as unknown) : value,
    ) as unknown[];
  }

  it.each([
    ["HOUR", "2026-10-02T12:00:00Z"],
    ["DAY", "2026-10-04T12:00:00Z"],
    ["WEEK", "2026-10-05"],
    ["MONTH", "2026-10-05"],
    ["YEAR", "2026-10-05"],
  ])(
    "has each row's %s statistics, and each group's over all its locations",
    async (kind, before) => {
      const [open = ""] = calls;
      const id = await report([row(open, "far"), row(open, "local"), row(open, "far")]);
      for (const type of ["ALL", "COMPLETE", "MISSED"]) {
        const query = `kind=${kind}&type=${type}`;
        const { meta, groups } = await stats(id, `${query}&before=${before}&limit=6`);
        expect(meta.periods).toHaveLength(6);
        const far = await single(`${query}&location_id=far`, meta.periods);
        const local = await single(`${query}&location_id=local`, meta.periods);
        const of = (location_id: string, entries: unknown[]) => ({
          call_id: open,
          name: "call",
          location_id,
          stats: entries,
        });
        const rows = [of("far", far), of("local", local), of("far", far)];
        const totals = await single(query, meta.periods);
        expect(groups).toEqual([{ name: "group 0", rows, totals }]);
      }
    },
  );

  it("lists the same periods for all: the latest ten days by default, newest first", async () => {
    const id = await report([row(calls[0]!, "local")]);
    const { meta, groups } = await stats(id);
    expect(meta).toEqual({
      kind: "DAY",
      report_id: id,
      name: "r",
      type: "ALL",
      min_time: "2026-09-26T00:00:00Z",
      max_time: "2026-10-05T00:00:00Z",
      periods: Array.from({ length: 10 }, (_, n) =>
        new Date(NOW - n * DAY).toISOString().replace(/T.*/, "T00:00:00Z"),
      ),
      more: false,
      next_cursor: "",
    });
    expect(groups[0]?.rows[0]?.stats.map(({ stat }) => stat?.count ?? null)).toEqual([
      null,
      null,
      3,
      null,
      3,
      ...Array.from({ length: 5 }, () => null),
    ]);
  });

  it("lists periods from `since` forwards, up to the current one", async () => {
    const id = await report([row(calls[0]!, "local")]);
    const periods = async (query: string) => (await stats(id, query)).meta.periods;
    expect(await periods("since=2026-10-04T23:00:00Z")).toEqual([
      "2026-10-04T00:00:00Z",
      "2026-10-05T00:00:00Z",
    ]);
    expect(await periods("since=2026-01-31&kind=MONTH&limit=2")).toEqual([
      "2026-01-01T00:00:00Z",
      "2026-02-01T00:00:00Z",
    ]);
    expect(await periods("since=2027-01-01")).toEqual(["2027-01-01T00:00:00Z"]);
    expect(await periods("before=0002-01-01&kind=YEAR&limit=5")).toEqual([
      "0002-01-01T00:00:00Z",
      "0001-01-01T00:00:00Z",
    ]);
  });

  it("neither shows nor counts rows of calls whose statistics the reader may not see", async () => {
    const [open = "", hidden = ""] = calls;
    const id = await report([row(open, "local"), row(hidden, "local")], [row(hidden, "local")]);
    const own = await stats(id, "kind=YEAR");
    expect(own.groups.map(({ rows }) => rows.length)).toEqual([2, 1]);
    expect(own.groups[0]?.totals[0]?.stat).toMatchObject({ count: 7, max_latency: 5000 });
    const others = await stats(id, "kind=YEAR", eve);
    expect(others.groups.map(({ rows }) => rows.map(({ call_id }) => call_id))).toEqual([
      [open],
      [],
    ]);
    expect(others.groups[0]?.totals).toEqual(others.groups[0]?.rows[0]?.stats);
    expect(others.groups[1]?.totals.every(({ stat, adv_stat }) => !stat && !adv_stat)).toBe(true);
    // The exported file contains the same rows.
    const file = await api.send({ path: `/reports/${id}/export?kind=YEAR`, as: eve });
    expect([file.text.includes(open), file.text.includes(hidden)]).toEqual([true, false]);
    // Results need another right, and are in another list.
    const paths = [open, hidden].flatMap((call) => [
      `/calls/${call}/results/export`,
      `/calls/${call}/stats/export`,
      `/calls/${call}/stats/export?kind=RAW`,
    ]);
    const statuses: number[] = [];
    for (const path of paths) statuses.push((await api.send({ path, as: eve })).status);
    expect(statuses).toEqual([404, 200, 200, 200, 404, 404]);
  });

  it("has pages of whole groups, with the periods of the first", async () => {
    const many = (count: number) => Array.from({ length: count }, () => row(calls[0]!, "local"));
    const id = await report(many(300), many(200), many(1), many(500));
    const pages: ReportStats[] = [];
    for (let cursor = ""; pages.length === 0 || cursor !== "";) {
      pages.push(await stats(id, `cursor=${cursor}`));
      cursor = pages.at(-1)!.meta.next_cursor;
    }
    expect(pages.map(({ groups }) => groups.map(({ rows }) => rows.length))).toEqual([
      [300, 200],
      [1],
      [500],
    ]);
    expect(pages.map(({ meta }) => meta["more"])).toEqual([true, true, false]);
    expect(pages[2]?.groups[0]?.rows[0]).toEqual(pages[0]?.groups[0]?.rows[0]);
    expect(await fault(id, "limit=11")).toEqual([
      400,
      "limit: 11 periods of the 500 rows of the group 'group 3' are more than 5000 entries; at most 10 periods fit",
    ]);
    expect(await fault(id, `cursor=${pages[0]?.meta.next_cursor}&kind=HOUR`)).toEqual([
      400,
      expect.stringContaining("is not a cursor of this list with these filters and this order"),
    ]);
  });

  it("has pages with as many periods as the first, whether they repeat the limit or not", async () => {
    const many = Array.from({ length: 300 }, () => row(calls[0]!, "local"));
    const id = await report(many, many);
    const { meta, groups } = await stats(id, "limit=15");
    const [next, repeated] = [
      await stats(id, `cursor=${meta.next_cursor}`),
      await stats(id, `cursor=${meta.next_cursor}&limit=15`),
    ];
    expect(groups).toHaveLength(1);
    expect(next.meta.periods).toEqual(meta.periods);
    expect(next).toEqual(repeated);
    expect(await fault(id, `cursor=${meta.next_cursor}&limit=10`)).toEqual([
      400,
      "limit: 10 is not that of the cursor, 15",
    ]);
  });

  it.each([
    ["since=2026-10-01&before=2026-10-02", "since: give either since or before, not both"],
    ["kind=RAW", "kind: 'RAW' is not one of ['HOUR', 'DAY', 'WEEK', 'MONTH', 'YEAR']"],
    ["limit=0", "limit: '0' is not an integer from 1 to 1000"],
    ["since=soon", "since: 'soon' is not an ISO 8601 date or date-time"],
  ])("refuses %s", async (query, message) => {
    expect(await fault(await report(), query)).toEqual([400, message]);
  });
});
