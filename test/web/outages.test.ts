// What the pages show of calls without times, of many runs and locations, and after something is
// gone, in a real browser.
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openFolder } from "../support/data-folder.ts";
import { storeInsight, WEEK, WEEK_MS } from "../support/insights.ts";
import { beyondEdgeOf, expectAccessible, startPages } from "../support/pages.ts";
import { makeFolder } from "../support/process.ts";
import { aCall, aReport, aRun } from "../support/runs.ts";
import { formatInstant } from "../../src/model/instant.ts";
import { periodStart } from "../../src/model/periods.ts";
import type { ResultCode } from "../../src/model/result.ts";
import type { PendingRun } from "../../src/store/records.ts";

const OWNER = "owner";
const MANY = 1100;
const MINUTE = 60_000;
const HALF_AN_HOUR = 30 * MINUTE;
const HOUR = 60 * MINUTE;
const PLACES = ["paris", "tokyo", "lima"];
/** The size of a page of a list. */
const PAGE = 100;
/** More locations, too many to list, without agents. */
const OFFICES = Array.from({ length: 25 }, (_, n) => `office-${n + 1}`);

interface Made {
  readonly id: string;
}

const folder = makeFolder();
let pages: Awaited<ReturnType<typeof startPages>>;
/** Ids of a call with many results, and of one whose runs were missed, its runs in order. */
let many: string;
let neverMade: string;
let missed: string[];
/** A call whose only run was skipped. */
let skipped: { readonly call_id: string; readonly time: string };
/**
 * Ids of reports: without a passed call, without outliers, without any call, without a failure, of
 * 40,001 calls with one, of 40,002, and of 400,000 without and with a slow one.
 */
let reports: string[];

beforeAll(async () => {
  const masterKey = randomBytes(32);
  mkdirSync(folder.dataDir, { recursive: true });
  writeFileSync(join(folder.dataDir, "master-key"), masterKey.toString("base64"));
  const store = await openFolder(folder, masterKey);
  const now = await store.now();
  for (const id of OFFICES) {
    const label = id.replace("office-", "Office ");
    // Later than the default one, which the start adds.
    await store.locations.insert({ id, label, region: "", created: now + HOUR });
  }
  const runsOf = async (runs: readonly PendingRun[], result: ResultCode) => {
    await store.pendingRuns.insert(runs);
    await store.results.record(runs.map((run) => aReport(run, { result })));
    return runs.map(({ result_id }) => result_id);
  };
  const ofOwner = { owner: OWNER };
  const [busy, absent, expired] = [aCall(ofOwner), aCall(ofOwner), aCall(ofOwner)];
  await store.transaction(async ({ documents }) => {
    for (const call of [busy, absent, expired]) await documents.insert(call);
  });
  [many, neverMade] = [busy.id, absent.id];
  const common = { owner: OWNER, deployment_id: null };
  const start = now - HALF_AN_HOUR - (now % MINUTE);
  await runsOf(
    Array.from({ length: MANY }, (_, n) =>
      aRun({ ...common, target_id: busy.id, due_time: start + n * 1000 }),
    ),
    "COMPLETE",
  );
  const at = (due_time: number) =>
    PLACES.map((location_id) => aRun({ ...common, target_id: absent.id, due_time, location_id }));
  missed = [
    ...(await runsOf(at(start), "MISSED")),
    ...(await runsOf(at(start + MINUTE), "MISSED")),
  ];
  await runsOf([aRun({ ...common, target_id: expired.id, due_time: start })], "SKIPPED");
  skipped = { call_id: expired.id, time: formatInstant(start) };
  reports = [];
  const nearlyAll = { passed: 40_000, failed: 1 };
  const weeks = [
    { passed: 0, failed: 30 },
    {},
    { passed: 0 },
    {},
    nearlyAll,
    { ...nearlyAll, passed: 40_001 },
    { passed: 400_000 },
    { passed: 400_000, slow: 1 },
  ];
  for (const [week, calls] of weeks.entries())
    reports.push(
      await storeInsight(store, {
        call_id: busy.id,
        of: { owner: OWNER, org: null },
        start: WEEK + week * WEEK_MS,
        ...calls,
      }),
    );
  const lastWeek = periodStart("WEEK", now) - WEEK_MS;
  for (const [name, failed] of Object.entries({ Silent: 0, Broken: 30 })) {
    const call = aCall({ owner: OWNER, name });
    await store.documents.insert(call);
    const of = { owner: OWNER, org: null };
    await storeInsight(store, { call_id: call.id, of, start: lastWeek, passed: 0, failed });
  }
  await store.close();
  pages = await startPages({ env: { SONDE_DATA_DIR: folder.dataDir } });
}, 120_000);

afterAll(async () => {
  await pages[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

it("draws every run of an hour, the newest too", async () => {
  const { page } = await pages.open(`/calls/${many}?range=hour`);
  const chart = page.locator("section.card", { hasText: "Latency: single calls" });
  await chart.getByText("Show as a table").click();
  await expect.poll(() => chart.locator("tbody tr").count()).toBe(MANY);
});

it("leads back from an address that shows nothing, where no retry helps", async () => {
  const { page } = await pages.open("/locations");
  for (const [query, fault] of [
    ["from=1900-01-01T00:00Z&to=2026-01-01T00:00Z", "is more than 400 periods"],
    ["location=nowhere", "location_id: 'nowhere' is not one of"],
  ] as const) {
    await page.goto(`${pages.api}/calls/${many}?${query}`);
    await page.getByText(fault).first().waitFor();
    const remedy = page.getByRole("link", { name: "Show the usual range at all locations" });
    await remedy.waitFor();
    expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0);
    await remedy.click();
    await page.getByRole("heading", { name: /^Latency/ }).waitFor();
    expect(page.url()).toBe(`${pages.api}/calls/${many}`);
  }
});

/** Follows the link as often as there are other runs; returns the ids on the way. */
async function walk(page: Page, link: "Next →" | "← Previous"): Promise<string[]> {
  const idNow = (): string => page.url().split("/").at(-1) ?? "";
  const ids = [idNow()];
  while (ids.length < missed.length) {
    await page.getByRole("link", { name: link }).click();
    await expect.poll(idNow).not.toBe(ids.at(-1));
    await page.locator(`a[href="results/${idNow()}"]`).waitFor({ state: "detached" });
    ids.push(idNow());
  }
  await page.getByRole("button", { name: link }).waitFor(); // not a link: there are no more
  return ids;
}

it("leads through runs that were due at the same instant", async () => {
  const { page } = await pages.open(`/results/${missed[0]}`);
  const forth = await walk(page, "Next →");
  expect(forth.toSorted()).toEqual(missed.toSorted());
  expect(await walk(page, "← Previous")).toEqual(forth.toReversed());
});

it("tells a measure of 0 from none, in both weeks of a report", async () => {
  const { page } = await pages.open(`/insights/${reports[1]}`);
  const table = page.getByRole("region", { name: "What moved" });
  const shows = (name: string, cells: readonly string[]) =>
    expect
      .poll(() => table.getByRole("row", { name }).locator("td").allInnerTexts())
      .toEqual(cells);
  await shows("Score", ["0", "999", "+999 better"]);
  await shows("Calls that passed", ["0 %", "100 %", "+100.00 percentage points better"]);
  await shows("Outliers", ["–", "0 %", "–"]);
  await shows("Average time", ["–", "100 ms", "–"]);
  await page.goto(`${pages.api}/insights/${reports[2]}`);
  await shows("Score", ["999", "–", "–"]);
  await shows("Calls that passed", ["100 %", "–", "–"]);
  await shows("Outliers", ["0 %", "–", "–"]);
});

it("shows one failure of many calls as a change, but not one call more", async () => {
  const { page } = await pages.open(`/insights/${reports[4]}`);
  const passed = page.getByRole("region", { name: "What moved" }).getByRole("row", {
    name: "Calls that passed",
  });
  await expect
    .poll(() => passed.locator("td").allInnerTexts())
    .toEqual(["100 %", "99.99 %", "−0.0025 percentage points worse"]);
  await page.goto(`${pages.api}/insights/${reports[5]}`);
  await expect
    .poll(() => passed.locator("td").allInnerTexts())
    .toEqual(["99.99 %", "99.99 %", "the same"]);
});

it("shows an average time that changed by less than it can show as the same", async () => {
  const { page } = await pages.open(`/insights/${reports[7]}`);
  const time = page.getByRole("region", { name: "What moved" }).getByRole("row", {
    name: "Average time",
  });
  await expect
    .poll(() => time.locator("td").allInnerTexts())
    .toEqual(["100 ms", "100 ms", "the same"]);
});

it("does not say of a call whose runs were skipped that it had none", async () => {
  const { call_id, time } = skipped;
  const groups = [{ name: "Expired", rows: [{ call_id, location_id: "local" }] }];
  const body = { meta: { name: "Skipped" }, groups };
  const { id } = await pages.client.send<Made>("POST", "/reports/", body);
  const { page } = await pages.open(`/reports/${id}?kind=day&time=${time}`);
  await page.getByRole("cell", { name: "no call made", exact: true }).waitFor();
});

it("ranks calls that were not made, or never passed, without measures that they lack", async () => {
  const { page } = await pages.open("/insights");
  const shows = (name: string, cells: readonly string[]) =>
    expect
      .poll(() =>
        page
          .getByRole("row", { name })
          .locator("td.score, td.passed, td.outliers, td.time")
          .allInnerTexts(),
      )
      .toEqual(cells);
  await shows("Silent", ["–", "–", "–", "–"]);
  await shows("Broken", ["0", "0 %", "–", "–"]);
  // The ranking does not tell a score of 0 from none.
  const trend = page.getByRole("row", { name: "Silent" }).getByRole("img");
  expect(await trend.getAttribute("aria-label")).toMatch(/: 0 or no score$/);
  expect(await trend.locator("rect").last().getAttribute("class")).toBe("none");
});

it("shows what is sought in a ranking, however short it is", async () => {
  const { page } = await pages.open("/insights?q=kitten");
  await page.getByText("No call has these words in its name or URL.").waitFor();
  const search = page.getByLabel("Find a call");
  expect(await search.inputValue()).toBe("kitten");
  await search.fill("");
  await page.getByRole("row", { name: "Silent" }).waitFor();
  expect(await search.evaluate((field) => field.matches(":focus"))).toBe(true);
});

it("does not call runs made that were missed", async () => {
  const { page } = await pages.open(`/calls/${neverMade}`);
  const card = page.locator("section.card", { hasText: "Result of the runs" });
  await card.getByLabel("Result of the runs").selectOption("MISSED");
  await expect.poll(() => card.locator("td[data-label=Count]").allInnerTexts()).toEqual(["6"]);
  expect(await card.getByRole("columnheader", { name: "Made" }).count()).toBe(0);
});

it("says that a call without an address was made, and names it in its workflow", async () => {
  const make = (path: string, body: object) => pages.client.send<Made>("POST", path, body);
  const call = await make("/calls/", {
    meta: { name: "Mistyped" },
    request: { method: "GET", url: "http://nowhere.invalid/" },
  });
  const { result_id } = await pages.client.send<{ result_id: string }>(
    "POST",
    `/calls/${call.id}/run?wait=30`,
    {},
  );
  const { page } = await pages.open(`/results/${result_id}`);
  await page.getByText("The call ended before anything was timed.").waitFor();
  expect(await page.getByText(/Too uncertain|No call was made/).count()).toBe(0);

  await page.goto(`${pages.api}/calls/${call.id}?range=day`);
  await page.getByRole("cell", { name: "dns_not_found" }).waitFor();
  for (const width of [768, 961, 1024, 1215, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    expect(await beyondEdgeOf(page, "table.results"), `at ${width} px`).toBe(0);
  }
  for (const name of ["Phases", "Distribution"]) {
    const card = page.locator("section.card", { has: page.getByRole("heading", { name }) });
    await card.getByText("No call passed in this range.").waitFor();
  }
  expect(await page.getByText("No calls in this range").count()).toBe(0);
  await page.getByRole("button", { name: "Show every call made" }).last().click();
  await expect.poll(() => page.url()).toContain("calls=all");
  await expect.poll(() => page.getByText("No call passed in this range.").count()).toBe(0);
  expect(await page.getByText("No calls in this range").count()).toBe(0);

  const workflow = await make("/workflows/", {
    meta: { name: "Visit" },
    workflow: { call_ids: [call.id, call.id] },
  });
  const { workflow_result_id } = await pages.client.send<{ workflow_result_id: string }>(
    "POST",
    `/workflows/${workflow.id}/run?wait=30`,
    {},
  );
  await page.goto(`${pages.api}/workflow-results/${workflow_result_id}`);
  const steps = page.getByRole("figure", { name: "Calls of the run" });
  await steps.getByRole("link", { name: "1. Mistyped" }).waitFor();
  await steps.getByText("dns_not_found").waitFor();
  await steps.getByText("not_reached").waitFor();
});

it("shows the locations without an agent first", async () => {
  const { page } = await pages.open("/locations");
  await page.getByText("Online").first().waitFor();
  const states = await page.locator("section.card > header .state").allTextContents();
  expect(states).toEqual([...OFFICES.map(() => "No agent"), "Online"]);
});

it("promises a new call no history, and says that it is deployed", async () => {
  const { id } = await pages.client.send<Made>("POST", "/calls/", {
    meta: { name: "New" },
    request: { method: "GET", url: "https://example.com/" },
  });
  const { page } = await pages.open(`/calls/${id}`);
  await page.getByText("Run it now, or deploy it").waitFor();
  await page.getByRole("button", { name: "Deploy", exact: true }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Runs").selectOption("every day");
  await dialog.getByRole("button", { name: "Deploy", exact: true }).click();
  await page.getByText("It is deployed: it has not run yet.").waitFor();
  expect(await page.getByText("History is still being written").count()).toBe(0);
});

it("says why the last run of a call could not be made", async () => {
  const { id } = await pages.client.send<Made>("POST", "/calls/", {
    meta: { name: "Refused" },
    request: { method: "GET", url: "http://127.0.0.1:9/" },
  });
  const run = `/calls/${id}/run?wait=30`;
  const { result_id } = await pages.client.send<{ result_id: string }>("POST", run, {});
  const { page } = await pages.open(`/calls/${id}`);
  const glance = page.getByRole("region", { name: "At a glance" });
  await glance.getByText(/The last run, at .* UTC, could not be made: egress_refused/).waitFor();
  await page.getByText("No call was made in this range.").first().waitFor();
  expect(await page.getByText(/Run it now|run the call now/).count()).toBe(0);
  await glance.getByRole("link").click();
  await expect.poll(() => page.url()).toBe(`${pages.api}/results/${result_id}`);
});

const focused = (page: Page): Promise<string> =>
  page.evaluate("document.activeElement.id || document.activeElement.textContent");

it("filters runs by the time that the reader chose", async () => {
  const { page } = await pages.open(`/calls/${many}`, { timezoneId: "Asia/Kolkata" });
  const runs = page.locator("section.card", { has: page.getByRole("heading", { name: "Runs" }) });
  await runs.getByLabel("From (UTC)").waitFor();
  await page.getByLabel("Local time instead of UTC").check();
  await page.getByText("Times are in local time.").first().waitFor();
  const newest = await runs.locator("tbody time").first().innerText();
  await runs.getByLabel("From (local time)").fill(newest.slice(0, 16).replace(" ", "T"));
  const inNewestMinute = MANY % 60; // one a second, from the start of a minute
  await expect.poll(() => runs.locator("tbody tr").count()).toBe(inNewestMinute);
  expect(await runs.locator("tbody time").first().innerText()).toBe(newest);

  // They are still there after a look at a run.
  await runs.getByLabel("Category").selectOption("PASS");
  await runs.getByLabel("Result", { exact: true }).selectOption("COMPLETE");
  await runs.locator("tbody a").first().click();
  await page.getByRole("heading", { name: /^Result of/ }).waitFor();
  await page.goBack();
  await expect.poll(() => runs.locator("tbody tr").count()).toBe(inNewestMinute);
  expect(await runs.getByLabel("Category").inputValue()).toBe("PASS");
  expect(await runs.getByLabel("Result", { exact: true }).inputValue()).toBe("COMPLETE");
  const from = newest.slice(0, 16).replace(" ", "T");
  expect(await runs.getByLabel("From (local time)").inputValue()).toBe(from);
  await runs.getByLabel("From (local time)").pressSequentially("11222026");
  expect(await runs.getByLabel("From (local time)").inputValue()).toMatch(/^2026-11-22T/);
});

it("filters the runs of a workflow and the audit trail by their addresses", async () => {
  const body = { meta: { name: "Order" }, workflow: { call_ids: [many] } };
  await pages.client.send("POST", "/workflows/", body);
  const { page } = await pages.open("/workflows");
  await page.getByRole("link", { name: "Order" }).click();
  const outcome = page.getByLabel("Outcome");
  await outcome.selectOption("FAIL");
  await page.getByText("No runs match.").waitFor();
  await page.getByLabel("Description").fill("typed");
  await outcome.selectOption("WARNING");
  await page.goBack(); // asks, at the address with the filters of now
  await page.getByRole("button", { name: "Stay" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.reload();
  await page.getByText("No runs match.").waitFor();
  expect(await outcome.inputValue()).toBe("WARNING");

  await page.goto(`${pages.api}/audit`);
  await page.getByLabel("From (UTC)").fill("2020-01-01T00:00");
  await page.getByRole("row", { name: "Order" }).getByRole("link").click();
  await page.getByRole("heading", { name: "Order", level: 1, exact: true }).waitFor();
  await page.goBack();
  await page.getByRole("row", { name: "Order" }).waitFor();
  expect(await page.getByLabel("From (UTC)").inputValue()).toBe("2020-01-01T00:00");
});

it("names a deployment in the audit trail by what it runs, and where", async () => {
  const make = async (path: string, body: object) =>
    (await pages.client.send<Made>("POST", path, body)).id;
  const call = await make("/calls/", {
    meta: { name: "Prices" },
    request: { method: "GET", url: "http://a.example/" },
  });
  const workflow = await make("/workflows/", { meta: { name: "Buy" } });
  for (const target_id of [call, workflow]) {
    const deployment = { target_id, location_id: "office-3", frequency: 60 };
    const id = await make("/deployments/", { deployment });
    await pages.client.send("PUT", `/deployments/${id}/`, { deployment: { frequency: 30 } });
  }
  const { page } = await pages.open("/audit");
  const changed = page.getByRole("row", { name: /update deployment of \w+ at Office 3/ });
  await expect.poll(() => changed.count()).toBe(2);
  const names = changed.getByRole("link");
  expect(await names.allTextContents()).toEqual(["Buy", "Prices"]);
  await names.first().click();
  await page.getByRole("heading", { name: "Buy", level: 1, exact: true }).waitFor();
});

it("says that a call has no runs yet once nothing is filtered", async () => {
  const { page } = await pages.open(`/calls/${await pages.client.createCall("http://a.example/")}`);
  await page.getByLabel("Category").selectOption("FAIL");
  await page.getByText("No results match. Change the filters.").waitFor();
  await page.getByLabel("Category").selectOption("");
  await page.getByText("No runs yet.").waitFor();
});

it("keeps the keyboard's focus in place", async () => {
  const { page } = await pages.open(`/calls/${many}`);
  const runs = page.locator("section.card", { has: page.getByRole("heading", { name: "Runs" }) });
  await runs.getByRole("button", { name: "Show more" }).focus();
  for (const rows of [50, 75]) {
    await page.keyboard.press("Enter");
    await expect.poll(() => runs.locator("tbody tr").count()).toBe(rows);
  }
  expect(await focused(page)).toBe("Show more");

  const run = page.locator("form").getByRole("button", { name: "Run now" });
  await run.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Run again" }).waitFor();
  expect(await focused(page)).toBe("Run again");

  await page.goto(`${pages.api}/calls/new`);
  await page.getByLabel("URL", { exact: true }).fill("https://example.com/");
  await page.getByLabel("Name", { exact: true }).fill("Example");
  await page.context().setOffline(true);
  await page.getByRole("button", { name: "Save", exact: true }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("Sonde is not responding").waitFor();
  await expect.poll(() => focused(page)).toBe("Save");
  await page.context().setOffline(false);
  await page.reload();

  await pages.client.send("POST", "/environment/global/host", { value: "a" });
  await page.goto(`${pages.api}/environment`);
  await page.getByRole("button", { name: "Delete the variable host" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("No variables here yet").waitFor();
  expect(await focused(page)).toBe("main");

  for (let n = 0; n <= PAGE; n += 1)
    await pages.client.send("POST", `/environment/many/v${n}`, { value: "a" });
  await page.goto(`${pages.api}/environment?workspace=many`);
  await page.getByRole("button", { name: "Show more" }).focus();
  await page.keyboard.press("Enter");
  await expect.poll(() => focused(page)).toBe("End of the list.");

  await page.goto(`${pages.api}/calls/${many}`);
  await page.getByRole("button", { name: "Deploy", exact: true }).first().click();
  await page.getByLabel("Delay, in seconds").fill("7");
  await page.getByRole("button", { name: /^Use \d+ s$/ }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: /^Use/ }).waitFor({ state: "detached" });
  expect(await page.locator("input:focus").inputValue()).not.toBe("7");

  const workflow = { meta: { name: "Empty" }, workflow: { call_ids: [] } };
  const { id } = await pages.client.send<Made>("POST", "/workflows/", workflow);
  await page.goto(`${pages.api}/workflows/${id}`);
  for (const end of ["Save changes", "Discard changes"]) {
    const button = page.getByRole("button", { name: end, exact: true });
    await page.getByLabel("Name", { exact: true }).fill(`Not empty: ${end}`);
    await button.focus();
    await page.keyboard.press("Enter");
    await button.waitFor({ state: "detached" });
    await expect.poll(() => focused(page)).toBe("main");
  }
});

it("moves the keyboard's focus to a row that is added, and to the next one of a removed one", async () => {
  const { page } = await pages.open("/settings/new");
  const press = async (button: string): Promise<void> => {
    await page.getByRole("button", { name: button, exact: true }).focus();
    await page.keyboard.press("Enter");
  };
  const label = (): Promise<string> => page.evaluate("document.activeElement.ariaLabel");
  for (const [at, name] of ["tenant", "region"].entries()) {
    await press("Add a variable");
    await expect.poll(label).toBe(`Name of variable ${at + 1}`);
    await page.keyboard.type(name);
  }
  await press("Remove tenant");
  await expect.poll(() => page.locator("input:focus").inputValue()).toBe("region");
  await press("Remove region");
  await expect.poll(() => focused(page)).toBe("Add a variable");
});

it("keeps the keyboard's focus in a report and in its form", async () => {
  const calls = [many, neverMade, skipped.call_id];
  const rows = calls.map((call_id) => ({ call_id, location_id: "local" }));
  const groups = [
    { name: "One", rows },
    { name: "Two", rows: [] },
  ];
  const body = { meta: { name: "Keyboard" }, groups };
  const { id } = await pages.client.send<Made>("POST", "/reports/", body);
  const { page } = await pages.open(`/reports/${id}/edit`);
  const up = page.getByRole("button", { name: /^Move .* at .* up$/ });
  await up.last().focus();
  for (const row of [1, 0, 0]) {
    await page.keyboard.press("Enter");
    await expect.poll(() => up.nth(row).evaluate((one) => one.matches(":focus"))).toBe(true);
  }
  const remove = page.getByRole("button", { name: /^Remove .* at / });
  for (const next of ["Location of row 2", "Location of row 1", "Add a call"]) {
    await remove.last().focus();
    await page.keyboard.press("Enter");
    const field = page.getByRole("group", { name: "One" }).getByLabel(next, { exact: true });
    await field.and(page.locator(":focus")).waitFor();
  }
  await page.getByRole("button", { name: "Remove Two" }).focus();
  await page.keyboard.press("Enter");
  await expect.poll(() => focused(page)).toBe("Add a group");

  await page.goto(`${pages.api}/reports/${id}`);
  const [before, after] = ["before", "after"].map((way) =>
    page.getByRole("button", { name: `The week ${way}`, exact: true }),
  );
  await after?.focus();
  await page.keyboard.press("Enter");
  await expect.poll(() => after?.getAttribute("aria-disabled")).toBe("true");
  expect(await focused(page)).toBe("→");
  await before?.click();
  await page.getByRole("button", { name: "This week" }).focus();
  await page.keyboard.press("Enter");
  await expect.poll(() => focused(page)).toBe("main");
});

it("asks again before retrying a failed deletion", async () => {
  const make = (path: string, body: object) => pages.client.send<Made>("POST", path, body);
  const setting = await make("/auth/", {
    meta: { name: "Shop", domain: "xn--exmple-cua.com" },
    settings: { auth_type: "NONE" },
  });
  const call = await make("/calls/", {
    meta: { name: "Shop" },
    request: { method: "GET", url: "https://exämple.com/", auth_id: setting.id },
  });
  const { page } = await pages.open(`/settings/${setting.id}`);
  const dialog = page.getByRole("dialog");
  const refusal = dialog.getByText("is used by 1 API Call");
  const ask = page.getByRole("button", { name: /^Delete the setting/ });
  await ask.click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await refusal.waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await ask.click();
  await dialog.getByText("It can be deleted only if").waitFor();
  expect(await refusal.count()).toBe(0);

  await page.goto(`${pages.api}/calls/${call.id}/edit`);
  const choice = page.getByLabel("Authentication setting").locator("option", { hasText: "Shop" });
  expect(await choice.innerText()).toBe("Shop (NONE, xn--exmple-cua.com)");
});

it("keeps the order of the words around a name that changes the direction of text", async () => {
  const { id } = await pages.client.send<Made>("POST", "/calls/", {
    meta: { name: "pay\u202Egnp.exe\u2066" },
    request: { method: "GET", url: "https://example.com/" },
  });
  const { page } = await pages.open(`/calls/${id}`);
  await page.getByRole("button", { name: /^Delete the call/ }).click();
  const dialog = page.getByRole("dialog");
  const title = dialog.getByRole("heading");
  expect(await title.textContent()).toBe('Delete the call "paygnp.exe"?');
  expect(await page.title()).toBe("paygnp.exe · Sonde");
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByText('Deleted the call "paygnp.exe"', { exact: true }).waitFor();
});

it("counts a missing object as deleted if the answer to its deletion was lost", async () => {
  const { id } = await pages.client.send<Made>("POST", "/calls/", {
    meta: { name: "Gone" },
    request: { method: "GET", url: "https://example.com/" },
  });
  const { page } = await pages.open(`/calls/${id}`);
  let attempts = 0;
  await page.route(`**/api/2/calls/${id}/`, async (route) => {
    if (route.request().method() !== "DELETE") return route.fallback();
    attempts += 1;
    if (attempts > 1) return route.fallback();
    await route.fetch();
    return route.abort();
  });
  const confirm = page.getByRole("dialog").getByRole("button", { name: "Delete" });
  await page.getByRole("button", { name: /^Delete the call/ }).click();
  await confirm.click();
  await page.getByText("Sonde is not responding.").waitFor();
  await confirm.click();
  await page.getByRole("heading", { name: "Calls", level: 1, exact: true }).waitFor();
  await page.getByText("Deleted the call").waitFor();
  expect(attempts).toBe(2);
});

it("leads back past a form that was saved, and past what was deleted", async () => {
  const { page } = await pages.open("/workflows");
  const title = (name: string) => page.getByRole("heading", { name, level: 1, exact: true });
  await page.getByRole("link", { name: "Calls", exact: true }).first().click();
  await page.getByRole("link", { name: "New call" }).click();
  await page.getByLabel("URL", { exact: true }).fill("https://example.com/");
  await page.getByLabel("Name", { exact: true }).fill("There and back");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await title("There and back").waitFor();
  await page.goBack();
  await title("Calls").waitFor();
  await page.goForward();
  await title("There and back").waitFor();
  await page.getByRole("button", { name: /^Delete the call/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await title("Calls").waitFor();
  await page.goBack();
  await expect.poll(() => new URL(page.url()).pathname).toBe("/calls");
  await page.goBack();
  await title("Workflows").waitFor();
});

it("takes a call that is deleted on its form out of its workflow at once", async () => {
  const make = (path: string, body: object) => pages.client.send<Made>("POST", path, body);
  const call = await make("/calls/", {
    meta: { name: "Only step" },
    request: { method: "GET", url: "https://example.com/" },
  });
  const meta = { name: "One step" };
  const { id } = await make("/workflows/", { meta, workflow: { call_ids: [call.id] } });
  const { page } = await pages.open(`/workflows/${id}`);
  const follow = (name: string) => page.getByRole("link", { name, exact: true }).first().click();
  await follow("Only step");
  await follow("Edit");
  await page.getByRole("heading", { name: "Edit Only step" }).waitFor();
  await page.getByRole("button", { name: /^Delete the call/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "Calls", level: 1, exact: true }).waitFor();
  await follow("Workflows");
  await follow("One step");
  await page.getByText("No calls yet.").waitFor();
});

it("says that a call was deleted meanwhile, and keeps what is typed", async () => {
  const { id } = await pages.client.send<Made>("POST", "/calls/", {
    meta: { name: "Passing" },
    request: { method: "GET", url: "https://example.com/" },
  });
  const opened = [await pages.open("/locations"), await pages.open("/locations")];
  const [call, form] = opened.map(({ page }) => page) as [Page, Page];
  for (const page of [call, form]) await page.clock.install();
  await call.goto(`${pages.api}/calls/${id}`);
  await call.getByRole("button", { name: "Deploy" }).first().click();
  const delay = call.getByRole("dialog").getByLabel("Delay");
  await delay.fill("17");
  await form.goto(`${pages.api}/calls/${id}/edit`);
  await form.getByLabel("Name", { exact: true }).fill("Typed");

  await pages.client.send("DELETE", `/calls/${id}/`);
  for (const page of [call, form]) {
    await page.clock.fastForward(31_000);
    await page.evaluate('dispatchEvent(new Event("visibilitychange"))');
    await page.getByText("Call not found").first().waitFor();
  }
  expect(await delay.inputValue()).toBe("17");
  expect(await form.getByLabel("Name", { exact: true }).inputValue()).toBe("Typed");
  expect(await call.getByRole("heading", { level: 1 }).textContent()).toBe("Passing");
  for (const stale of ["At a glance", "What the charts show"])
    await call.getByRole("region", { name: stale }).waitFor({ state: "detached" });
});

it("closes a dialog about what is gone", async () => {
  const make = (path: string, body: object) => pages.client.send<Made>("POST", path, body);
  const call = await make("/calls/", {
    meta: { name: "Shop" },
    request: { method: "GET", url: "https://example.com/" },
  });
  const deployment = await make("/deployments/", {
    deployment: { target_id: call.id, location_id: "local", frequency: 60 },
  });
  const setting = await make("/auth/", {
    meta: { name: "Shop", domain: "example.com" },
    settings: { auth_type: "BASIC" },
  });
  const token = await make("/tokens/", { meta: { name: "Shop", auth_id: setting.id }, token: {} });
  const { page } = await pages.open(`/calls/${call.id}`);
  const seesItGone = async (path: string, edit: string, fault: string): Promise<void> => {
    const button = page.getByRole("button", { name: edit });
    await button.waitFor();
    await pages.client.send("DELETE", path);
    await button.click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(fault).waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await dialog.waitFor({ state: "detached" });
  };
  await seesItGone(`/deployments/${deployment.id}/`, "Edit the deployment", "Deployment not found");
  await page.goto(`${pages.api}/tokens`);
  await seesItGone(`/tokens/${token.id}/`, "Edit Shop", "Token not found");
});

it("says what a setting, a frequency and a deletion have as their effect", async () => {
  const { page } = await pages.open("/calls/new");
  await page.getByText("Credentials are sent only to the setting's own domain.").waitFor();
  await page.goto(`${pages.api}/calls/${many}`);
  await page.getByRole("button", { name: "Deploy", exact: true }).first().click();
  await page.getByText("Runs at multiples of this interval, counted from midnight").waitFor();
  await pages.client.send("POST", "/environment/global/path", { value: "a" });
  await page.goto(`${pages.api}/environment?workspace=global`);
  await page.getByRole("button", { name: "Delete the variable path" }).click();
  await page.getByText("Calls that use it will send the placeholder as written").waitFor();
  await page.goto(`${pages.api}/locations`);
  await page.getByText("Your queued runs").first().waitFor();
});

it("asks before it replaces a variable that others changed or deleted", async () => {
  const { client } = pages;
  const path = "/environment/shop/password";
  await client.send("POST", path, { value: "first" });
  const { page } = await pages.open("/environment?workspace=shop");
  const dialog = page.getByRole("dialog");
  const setsAnyway = async (what: string): Promise<void> => {
    await dialog.getByLabel("New value").fill("mine");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText(`The variable has been ${what} elsewhere.`).waitFor();
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    const { workspace_variable } = await client.send<{ workspace_variable: object }>("GET", path);
    expect(workspace_variable).toEqual({ name: "password", value: "mine" });
  };
  await page.getByRole("button", { name: "Change password" }).click();
  await client.send("POST", path, { value: "theirs" });
  await setsAnyway("changed");
  await page.getByRole("button", { name: "Change password" }).click();
  await client.send("DELETE", path);
  await setsAnyway("deleted");
});

it("sends no variable to a workspace whose name the browser would resolve", async () => {
  const { page } = await pages.open("/environment");
  await page.getByRole("button", { name: "New variable" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Workspace").fill("..");
  await dialog.getByLabel("Name").fill("session");
  await dialog.getByLabel("Value").fill("v");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText(/'\.\.' cannot name a workspace/).waitFor();
});

it("finds one of many locations to deploy at, and stays idle beside their deployments", async () => {
  const { client } = pages;
  const { id } = await client.send<Made>("POST", "/calls/", {
    meta: { name: "Everywhere" },
    request: { method: "GET", url: "https://example.com/" },
  });
  for (const location_id of OFFICES) await client.deploy(id, { frequency: 1440, location_id });
  const { page } = await pages.open(`/calls/${id}`);
  await page.clock.install();
  await page.reload();
  await page.getByRole("rowheader", { name: "Office 25 No agent" }).waitFor();

  // The countdowns go on, and the locations are sorted at most once meanwhile.
  await page.evaluate(`{
    const compare = String.prototype.localeCompare;
    globalThis.compared = 0;
    String.prototype.localeCompare = function (...args) {
      globalThis.compared += 1;
      return compare.apply(this, args);
    };
  }`);
  await page.clock.runFor(5000);
  expect(await page.evaluate("globalThis.compared")).toBeLessThan(OFFICES.length ** 2);

  await page.getByRole("button", { name: "Deploy", exact: true }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("checkbox", { checked: true }).waitFor();
  expect(await dialog.getByRole("checkbox").count()).toBe(1);
  await dialog.getByRole("combobox", { name: "Add a location" }).fill("office 17");
  await page.getByRole("option", { name: /^Office 17.*already deployed: every day/ }).waitFor();
  await page.keyboard.press("Enter");
  await dialog.getByLabel("Office 17").uncheck();
  await dialog.getByLabel("Office 17").check();
  await dialog.getByLabel(/^local/).uncheck();
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Deploy" }).click();
  await page.getByText("Deployed at Office 17").waitFor();
  const { results } = await client.send<{ results: object[] }>("GET", `/deployments/call/${id}/`);
  expect(results).toHaveLength(OFFICES.length + 1);
});
