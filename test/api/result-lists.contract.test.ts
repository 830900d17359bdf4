// Lists of results: their order and filters, on both databases.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { create, createCall, startApi } from "../support/api.ts";
import type { List, TestApi } from "../support/api.ts";
import { aReport, aRun, aWorkflowReport, T0 } from "../support/runs.ts";
import type { Outcome } from "../support/runs.ts";
import { storeKinds } from "../support/stores.ts";

const MINUTE = 60_000;

/** In order of creation; the last two have no outcome yet. */
const RUNS: readonly (Outcome & { readonly name: string; readonly location: string })[] = [
  { name: "passed", location: "local" },
  { name: "server error", location: "far", result: "HTTP_SERVER_ERROR" },
  { name: "missed", location: "local", result: "MISSED" },
  { name: "client error", location: "local", result: "HTTP_CLIENT_ERROR", start: T0 + 9 * MINUTE },
  { name: "passed far away", location: "far" },
  { name: "queued", location: "local", result: "QUEUED" },
  { name: "queued far away", location: "far", result: "QUEUED" },
];
const NAMES = RUNS.map(({ name }) => name);

const FILTERS: readonly (readonly [query: string, names: readonly string[]])[] = [
  ["", NAMES],
  ["type=COMPLETE", ["passed", "passed far away"]],
  ["type=complete&location_id=far", ["passed far away"]],
  ["type=ALL", ["passed", "server error", "client error", "passed far away"]],
  ["type=MISSED", ["missed"]],
  ["type=QUEUED", ["queued", "queued far away"]],
  ["type=SLA_ERROR", []],
  ["category=PASS", ["passed", "passed far away"]],
  ["category=WARNING", ["client error"]],
  ["category=FAIL", ["server error"]],
  ["category=none", ["missed", "queued", "queued far away"]],
  ["category=FAIL&type=COMPLETE", []],
  ["location_id=far", ["server error", "passed far away", "queued far away"]],
  ["location_id=__ALL__", NAMES],
  ["location_id=", NAMES],
  // A result without a call is placed by its due time.
  ["from=2026-10-01T12:02:00Z&to=2026-10-01T12:04:00Z", ["missed"]],
  ["to=2026-10-01T12:01:00Z", ["passed"]],
  ["from=2026-10-01T12:05:00Z", ["client error", "queued", "queued far away"]],
  ["from=2026-10-01T12:01:00Z&to=2026-10-01T12:01:00Z", []],
  ["from=2026-10-02", []],
  // Times of results are whole milliseconds.
  ["from=2026-10-01T12:02:00.000001Z&to=2026-10-01T12:04:00Z", []],
  ["from=2026-10-01T12:02:00Z&to=2026-10-01T12:02:00.000001Z", ["missed"]],
  ["from=2026-10-01T12:02:00.0000000Z&to=2026-10-01T12:02:00.0010Z", ["missed"]],
];

describe.each(storeKinds)("lists of results on %s", (storeKind) => {
  let api: TestApi;
  /** By the kind of target. */
  const lists: Record<string, { path: string; ids: readonly string[] }> = {};

  beforeAll(async () => {
    api = await startApi({ storeKind });
    const call = await createCall(api);
    const workflow = await create(api, "/workflows/", {
      meta: { name: "a workflow" },
      workflow: { call_ids: [call.id] },
    });
    // The workflow's steps are results of another call.
    const step = await createCall(api);
    lists["call"] = { path: `/calls/${call.id}/results/`, ids: await ran("call", call.id) };
    lists["workflow"] = {
      path: `/workflows/${workflow.id}/results/`,
      ids: await ran("workflow", workflow.id, step.id),
    };
  });
  afterAll(() => api[Symbol.asyncDispose]());

  async function ran(target_kind: "call" | "workflow", target_id: string, step?: string) {
    const ids: string[] = [];
    for (const [n, { location: location_id, ...outcome }] of RUNS.entries()) {
      const due_time = T0 + n * MINUTE;
      const run = aRun({
        target_kind,
        target_id,
        location_id,
        due_time,
        call_ids: step === undefined ? null : [step],
      });
      ids.push(run.result_id);
      await api.store.pendingRuns.insert([run]);
      if (outcome.result === "QUEUED") continue;
      if (outcome.result === "MISSED")
        await api.store.results.recordUnreported([{ run, result: "MISSED", message: "late" }]);
      else await api.store.results.record([reportOf(run, outcome)]);
    }
    return ids;
  }

  function reportOf(run: ReturnType<typeof aRun>, outcome: Outcome) {
    if (run.target_kind === "call") return aReport(run, outcome);
    const report = aWorkflowReport(run, [outcome]);
    const workflow = report.workflow!;
    const start_time = report.results[0]!.meta.start_time;
    return { ...report, workflow: { ...workflow, meta: { ...workflow.meta, start_time } } };
  }

  const get = (path: string, query: string) => api.send<List>({ path: `${path}?${query}` });

  const namesIn = ({ results }: List, ids: readonly string[]) =>
    results.map(({ id }) => NAMES[ids.indexOf(id)]);

  it.each(["call", "workflow"])("filters those of a %s, in both orders", async (kind) => {
    const { path, ids } = lists[kind]!;
    for (const [query, names] of FILTERS)
      for (const [order, expected] of [
        ["asc", names],
        ["desc", names.toReversed()],
      ] as const) {
        const { status, text, body } = await get(path, `${query}&order=${order}`);
        expect(status, text).toBe(200);
        expect(namesIn(body, ids), `${query} ${order}`).toEqual(expected);
      }
  });

  it.each(["call", "workflow"])("pages backwards through those of a %s", async (kind) => {
    const { path, ids } = lists[kind]!;
    const pages: (string | undefined)[][] = [];
    for (let cursor = ""; pages.length === 0 || cursor !== "";) {
      const { body } = await get(path, `order=desc&limit=2&cursor=${cursor}`);
      pages.push(namesIn(body, ids));
      cursor = body.meta.next_cursor;
    }
    expect(pages).toEqual([
      ["queued far away", "queued"],
      ["passed far away", "client error"],
      ["missed", "server error"],
      ["passed"],
    ]);
  });

  it("ends a page of large results early", async () => {
    const call = await createCall(api);
    const runs = Array.from({ length: 150 }, (_, n) =>
      aRun({ target_id: call.id, due_time: T0 + n * MINUTE }),
    );
    await api.store.pendingRuns.insert(runs);
    const headers = [{ key: "x-large", value: "x".repeat(64_000) }];
    const response = { status_code: 200, status_string: "OK", headers };
    const reports = runs.map((run) => {
      const report = aReport(run);
      return { ...report, results: report.results.map((result) => ({ ...result, response })) };
    });
    await api.store.results.record(reports);
    const found: string[][] = [];
    for (let cursor = ""; found.length === 0 || cursor !== "";) {
      const query = `order=desc&limit=1000&cursor=${cursor}`;
      const { body } = await get(`/calls/${call.id}/results/`, query);
      found.push(body.results.map(({ id }) => id));
      cursor = body.meta.next_cursor;
    }
    const ids = runs.map(({ result_id }) => result_id).toReversed();
    expect(found).toEqual([ids.slice(0, 100), ids.slice(100)]);
  });

  it("binds a cursor to order and filters, not to how they are written", async () => {
    const { path } = lists["call"]!;
    const { body } = await get(path, "limit=1&from=2026-10-01");
    const cursor = `cursor=${body.meta.next_cursor}`;
    for (const same of ["from=2026-10-01", "from=2026-10-01T00:00:00Z&order=ASC&limit=5"])
      expect((await get(path, `${cursor}&${same}`)).status, same).toBe(200);
    for (const other of [
      "",
      "from=2026-10-02",
      "from=2026-10-01&order=desc",
      "from=2026-10-01&type=COMPLETE",
      "from=2026-10-01&category=PASS",
      "from=2026-10-01&location_id=far",
      "from=2026-10-01&to=2026-10-03",
    ]) {
      const answer = await get(path, `${cursor}&${other}`);
      expect(answer.status, other).toBe(400);
      expect(answer.text).toContain(
        "is not a cursor of this list with these filters and this order",
      );
    }
  });
});
