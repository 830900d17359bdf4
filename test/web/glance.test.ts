// What the page of a call says first, in a real browser.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { DAY_MS, HOUR_MS, periodStart } from "../../src/model/periods.ts";
import type { ListedResult } from "../../src/model/result.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { derivedId } from "../../src/runtime/ids.ts";
import { create, createCall, startApi } from "../support/api.ts";
import { openPage, startBrowser } from "../support/browser.ts";
import { aReport, aRun } from "../support/runs.ts";
import type { Outcome } from "../support/runs.ts";

let api: Awaited<ReturnType<typeof startApi>>;
let browser: Awaited<ReturnType<typeof startBrowser>>;
let page: Page;

beforeAll(async () => {
  api = await startApi();
  await api.api.start();
  browser = await startBrowser();
  ({ page } = await openPage(browser));
  const headers = { authorization: `Bearer ${api.ann.key}` };
  await page.context().request.post(`${String(api.api.address())}/api/2/session/`, { headers });
}, 120_000);

afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await api[Symbol.asyncDispose]();
});

/** Creates a call with these runs, one a minute up to now; resolves with the card on its page. */
async function glanceOf(...runs: readonly (Outcome & { readonly location_id: string })[]) {
  const { id } = await createCall(api, {});
  for (const location_id of new Set(runs.map((run) => run.location_id)))
    await create(api, "/deployments/", {
      deployment: { target_id: id, location_id, frequency: 60 },
    });
  const now = systemClock.now();
  for (const [at, { location_id, ...outcome }] of runs.entries()) {
    const due_time = now - (runs.length - 1 - at) * 60_000;
    const run = aRun({ target_id: id, location_id, due_time });
    await api.store.pendingRuns.insert([run]);
    await api.store.results.record([aReport(run, outcome)]);
  }
  await page.goto(`${String(api.api.address())}/calls/${id}`);
  const glance = page.getByRole("region", { name: "At a glance" });
  await glance.getByText("Passed in 24 hours").waitFor();
  return glance;
}

const TIMED_OUT = {
  location_id: "local",
  result: "CONNECTION_ERROR",
  total: 2000,
  timing: { processing: null, download: null },
} as const;

it("names no phase of calls that all waited in another", async () => {
  const failed = await glanceOf(TIMED_OUT, TIMED_OUT);
  await failed.getByText(/^All 2 calls in the last 24 hours failed/).waitFor();
  expect(await failed.getByText(/on average over 24 hours/).count()).toBe(0);

  const mixed = await glanceOf({ location_id: "local", total: 24 }, TIMED_OUT);
  await mixed
    .getByText("Processing takes 20 ms of 24 ms, on average over 24 hours, of calls that passed.")
    .waitFor();
  await mixed.getByRole("link", { name: "Open the last result" }).click();
  await page.getByRole("main").getByText("CONNECTION_ERROR").first().waitFor();
  await page.getByRole("heading", { name: "Where the time went" }).waitFor();
});

it("averages a phase over the calls that reached it, also where others failed before", async () => {
  const hour = periodStart("HOUR", systemClock.now() - 3 * HOUR_MS);
  const unreached = { tcp: null, upload: null, processing: null, download: null };
  const failed = { location_id: "local", result: "CONNECTION_ERROR", timing: unreached } as const;
  const glance = await glanceOf(
    ...Array.from({ length: 5 }, (_, at) => ({ ...failed, start: hour + at })),
    { location_id: "local", total: 1004, timing: { processing: 1000 }, start: hour + 5 },
    { location_id: "local", total: 14, timing: { processing: 10 } },
  );
  await glance.getByText("Processing takes 505 ms of 509 ms, on average").waitFor();
});

it("compares calls that passed with those of before, not with fast failures", async () => {
  const now = systemClock.now();
  const took = (processing: number) => ({ total: processing + 4, timing: { processing } });
  const failed = { result: "HTTP_SERVER_ERROR", ...took(5) } as const;
  /** Five days of one call, and three of others since then, up to now. */
  const daysAt = (location_id: string, before: Outcome, ...since: readonly Outcome[]) =>
    Array.from({ length: 8 }, (_, at) => 7 - at).flatMap((ago) =>
      (ago < 3 ? since : [before]).map((outcome) => ({
        ...outcome,
        location_id,
        start: now - ago * DAY_MS,
      })),
    );

  const same = await glanceOf(...daysAt("local", took(200), failed, failed, took(200)));
  await same.getByText("No clear change in 8 days.").waitFor();

  const slower = await glanceOf(
    ...daysAt("far", took(200), failed, failed, took(600)),
    ...daysAt("local", took(200), took(600)),
  );
  await slower
    .getByText("it takes 3.0 times as long: 600 ms at the median day, 200 ms before.")
    .waitFor();
  await slower.getByText("Similar at both locations").waitFor();
});

it("begins with why calls are no longer made", async () => {
  const glance = await glanceOf(
    { location_id: "local" },
    { location_id: "far" },
    { location_id: "local", result: "SKIPPED" },
    { location_id: "far" },
  );
  await glance
    .getByText(/^The last run at The local one, at .* UTC, could not be made: SKIPPED$/)
    .waitFor();
  await glance.getByText("100 %").waitFor();
});

it("says where a call fails, and since when, however long ago that is", async () => {
  const here = { location_id: "local", result: "HTTP_SERVER_ERROR" } as const;
  const far = { location_id: "far" };
  const runs = Array.from({ length: 30 }, () => [here, far]).flat();
  const glance = await glanceOf({ location_id: "local" }, { location_id: "local" }, ...runs);
  const list = page.url().replace("/calls/", "/api/2/calls/");
  const failed = await page.request.get(`${list}/results/?category=FAIL&limit=1`);
  const [first] = ((await failed.json()) as { results: ListedResult[] }).results;
  await glance
    .getByText(`${first?.meta.start_time?.slice(11, 16)} UTC, last with HTTP_SERVER_ERROR`)
    .and(glance.getByText("All calls at The local one failed since"))
    .waitFor();
  const where = glance.locator("div", { has: page.getByText("Where", { exact: true }) });
  await where.getByText("Only at The local one").waitFor();
  await where.getByText("Latency of calls that passed: similar at both locations").waitFor();
});

it("takes runs in the order of their times, also where they were delayed", async () => {
  const { id } = await createCall(api, {});
  const now = systemClock.now();
  const record = async (trigger: number, due: number, outcome: Outcome = {}) => {
    const times = { result_id: derivedId(trigger, id), trigger_time: trigger, due_time: due };
    const run = aRun({ target_id: id, ...times });
    await api.store.pendingRuns.insert([run]);
    await api.store.results.record([aReport(run, outcome)]);
    return run.result_id;
  };
  const earlier = await record(now - 4 * HOUR_MS, now - 2 * HOUR_MS);
  const prompt = await record(now - HOUR_MS, now - HOUR_MS);
  const failed = await record(now - 3 * HOUR_MS, now, { result: "HTTP_SERVER_ERROR" });
  const inOrder = [failed, prompt, earlier].map((one) => `results/${one}`);

  await page.goto(`${String(api.api.address())}/calls/${id}`);
  const glance = page.getByRole("region", { name: "At a glance" });
  await glance.getByText(/^The last call failed at/).waitFor();
  const links = page.locator("table.results a");
  expect(await links.evaluateAll((all) => all.map((one) => one.getAttribute("href")))).toEqual(
    inOrder,
  );
  await links.first().click();
  for (const path of inOrder.slice(1)) {
    await page.getByRole("link", { name: "← Previous" }).click();
    await page.waitForURL(`**/${path}`);
  }
  for (const path of inOrder.toReversed().slice(1)) {
    await page.getByRole("link", { name: "Next →" }).click();
    await page.waitForURL(`**/${path}`);
  }
});

it("says that no call passed to a reader who may not see the runs", async () => {
  const { id } = await createCall(api, { access: { settings: true, stats: true } });
  const run = aRun({ target_id: id, due_time: systemClock.now() });
  const unreached = { tcp: null, upload: null, processing: null, download: null };
  await api.store.pendingRuns.insert([run]);
  await api.store.results.record([
    aReport(run, { result: "CONNECTION_ERROR", total: 0, timing: unreached }),
  ]);
  const { key } = await api.caller("bob");
  const { page: others } = await openPage(browser);
  const headers = { authorization: `Bearer ${key}` };
  await others.context().request.post(`${String(api.api.address())}/api/2/session/`, { headers });
  await others.goto(`${String(api.api.address())}/calls/${id}`);
  const glance = others.getByRole("region", { name: "At a glance" });
  await glance.getByText("No call passed in the last 24 hours.").waitFor();
  await glance.getByText("1 call made in 24 hours").waitFor();
  await others.getByText("Not shared", { exact: true }).waitFor();
  await others.context().close();
});

it("does not take what is no longer kept for calls that were never made", async () => {
  const { id } = await createCall(api, {});
  const now = systemClock.now();
  const due_time = periodStart("DAY", now) - 60 * DAY_MS + 10 * HOUR_MS;
  const run = aRun({ target_id: id, due_time, result_id: derivedId(due_time, id) });
  await api.store.pendingRuns.insert([run]);
  await api.store.results.record([aReport(run)]);
  const kept = { details: 0, raw: now - 30 * DAY_MS, hours: now - 30 * DAY_MS, audit: 0 };
  const remove = (kind: "results" | "hours" | "percentiles") =>
    api.store.retention.remove(kind, { kept, after: undefined, limit: 1000 });
  const around = (ms: number): Promise<unknown> => {
    const [from, to] = [due_time - ms, due_time + ms].map((at) => new Date(at).toISOString());
    return page.goto(`${String(api.api.address())}/calls/${id}?from=${from}&to=${to}`);
  };

  await remove("results");
  await around(HOUR_MS / 2);
  const isKept = page.getByText("No single run of this range is kept: choose a longer range.");
  await expect.poll(() => isKept.count()).toBe(2);
  await remove("hours");
  await around(HOUR_MS);
  await page.getByText("Choose a longer range: days are kept for longer than hours.").waitFor();
  await remove("percentiles");
  await around(10 * DAY_MS);
  await page.getByText(/^The percentiles of this range are no longer kept/).waitFor();
  await page.getByRole("img", { name: /^Phases over time/ }).waitFor();
  expect(await page.getByText("No call passed in this range.").count()).toBe(0);
});

it("ends a zoom into the distribution once its bars are others", async () => {
  const far = [100, 300, 500].map((total) => ({ location_id: "far", total }));
  await glanceOf({ location_id: "local", total: 24 }, { location_id: "local", total: 26 }, ...far);
  const zoom = page.getByRole("toolbar", { name: "Zoom: Calls by latency" });
  await zoom.getByRole("button", { name: "Later" }).click();
  const reset = zoom.getByRole("button", { name: "Reset" });
  await expect.poll(() => reset.getAttribute("aria-disabled")).toBe("false");
  await page
    .getByRole("region", { name: "What the charts show" })
    .getByLabel("Location")
    .selectOption("local");
  await expect.poll(() => reset.getAttribute("aria-disabled")).toBe("true");
});

it("moves on without results", async () => {
  await page.clock.install();
  const glance = await glanceOf({ location_id: "local" });
  await page.clock.runFor(40_000); // what was read is stale, which the page has noticed
  await page.clock.fastForward(26 * HOUR_MS);
  await glance.getByText("No call was made in the last 24 hours.").waitFor();
});
