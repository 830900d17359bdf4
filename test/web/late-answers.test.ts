// What the pages do when answers arrive after the reader has gone on, in a real browser.
import type { Locator, Page, Route } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startPages } from "../support/pages.ts";
import { startTarget } from "../support/target-server.ts";
import type { HttpTarget } from "../support/target-server.ts";

let target: HttpTarget;
/** The target answers once this resolves. */
let answering = Promise.resolve();
let pages: Awaited<ReturnType<typeof startPages>>;

beforeAll(async () => {
  target = await startTarget((_, response) => void answering.then(() => response.end("ok")));
  const env = { SONDE_EGRESS_ALLOW: target.authority, SONDE_MAX_MANUAL_RUNS: "100" };
  pages = await startPages({ env });
});

afterAll(async () => {
  await pages?.[Symbol.asyncDispose]();
  await target?.[Symbol.asyncDispose]();
});

const make = async (path: string, body: object): Promise<string> =>
  (await pages.client.send<{ id: string }>("POST", path, body)).id;

const makeCall = (name: string): Promise<string> =>
  make("/calls/", { meta: { name }, request: { method: "GET", url: target.url } });

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

const said = (page: Page, text: string) =>
  page.getByRole("status").getByText(text, { exact: true }).waitFor();

const named = (page: Page) => page.getByLabel("Name", { exact: true });

/** Holds these requests back until they are released. */
async function holdBack(
  page: Page,
  method: string,
  url: string | RegExp,
  answer = (route: Route): Promise<void> => route.continue(),
) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const sent: unknown[] = [];
  await page.route(url, async (route) => {
    if (route.request().method() !== method) return route.fallback();
    sent.push(route.request().postData());
    await released;
    await answer(route).catch(() => undefined); // the page may have given it up
  });
  return { sent, release };
}

/** Reads some more: what the page reads or sends because of the last answer, it does before. */
async function readOn(page: Page): Promise<void> {
  for (let n = 0; n < 5; n += 1) await page.evaluate('fetch("/").then((answer) => answer.text())');
}

/** Begins a workflow on another page. */
async function beginWorkflow(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Workflows", exact: true }).first().click();
  await page.getByRole("link", { name: "New workflow" }).first().click();
  await named(page).fill("Typed elsewhere");
}

/** Saves what was begun, which is still there. */
async function saveWorkflow(page: Page): Promise<void> {
  expect(await named(page).inputValue()).toBe("Typed elsewhere");
  await button(page, "Create workflow").click();
  await page.getByRole("heading", { name: "Typed elsewhere", level: 1 }).waitFor();
}

/** Makes the second click of a double click; what it sends is sent afterwards. */
async function clickAgain(page: Page, locator: Locator): Promise<void> {
  const { x, y, width, height } = (await locator.boundingBox()) ?? expect.fail("it is not shown");
  await page.mouse.move(x + width / 2, y + height / 2);
  await page.mouse.down({ clickCount: 2 });
  await page.mouse.up({ clickCount: 2 });
  await readOn(page);
}

it("a double click orders one run, even if the first click is answered in between", async () => {
  const call = await makeCall("Clicked twice");
  const { page } = await pages.open(`/calls/${call}`);
  let orders = 0;
  page.on("request", (request) => {
    if (request.url().endsWith(`/calls/${call}/run`)) orders += 1;
  });
  const hasRun = async (times: number): Promise<void> => {
    await expect.poll(() => endedRuns(call)).toBe(times);
    await page.getByText("Open this result").waitFor();
    expect(orders).toBe(times);
  };
  const [head, again] = [button(page, "Run now"), button(page, "Run again")];
  const panel = page.getByRole("region", { name: "Run now" });
  await panel.getByRole("button", { name: "Run now" }).click();
  await hasRun(1);
  await clickAgain(page, again);
  expect(orders).toBe(1);
  await again.click();
  await hasRun(2);
  await page.keyboard.press("Enter");
  await hasRun(3);
  await head.focus();
  await page.keyboard.press("Enter");
  await hasRun(4);
  expect(await panel.evaluate((element) => element.matches(":focus"))).toBe(true);
  await panel.getByText("Context values", { exact: true }).click();
  await panel.getByRole("button", { name: "Add a value" }).click();
  await panel.getByLabel("Name of value 1").fill("shop");
  const value = panel.getByLabel("Value of value 1");
  await value.fill("books");
  await value.press("Enter");
  await hasRun(5);
  expect(await value.evaluate((element) => element.matches(":focus"))).toBe(true);
  await head.click();
  await hasRun(6);
  await clickAgain(page, head);
  expect(orders).toBe(6);

  await page.goto(`${pages.api}/calls/${call}/edit`);
  const save = button(page, "Save and run");
  await save.click();
  await hasRun(7);
  await clickAgain(page, save);
  expect(orders).toBe(7);
});

it("a page keeps what its address chose while the next one loads", async () => {
  const { page } = await pages.open(`/calls/${await makeCall("Left")}?run_category=FAIL`);
  const category = page.getByRole("region", { name: "Runs", exact: true }).getByLabel("Category");
  await page.getByText("No results match").waitFor();
  const insights = await holdBack(page, "GET", "**/assets/insights-page-*");
  await page.getByRole("link", { name: "Insights", exact: true }).first().click();
  await expect.poll(() => insights.sent.length).toBeGreaterThan(0);
  await readOn(page);
  expect(await category.inputValue()).toBe("FAIL");
  await category.selectOption("");
  insights.release();
  await page.getByRole("heading", { name: "Insights", level: 1 }).waitFor();
  expect(page.url()).toBe(`${pages.api}/insights`);

  await page.goto(`${pages.api}/environment?workspace=production`);
  const workspace = page.getByRole("heading", { name: "production" });
  await workspace.waitFor();
  const reports = await holdBack(page, "GET", "**/assets/reports-page-*");
  await page.getByRole("link", { name: "Reports", exact: true }).first().click();
  await expect.poll(() => reports.sent.length).toBeGreaterThan(0);
  await readOn(page);
  expect(await workspace.count()).toBe(1);
  reports.release();
  await page.getByRole("heading", { name: "Reports", level: 1 }).waitFor();
});

it("a saved call leaves the reader on the page that they went to", async () => {
  const call = await makeCall("Saved late");
  const { page } = await pages.open(`/calls/${call}/edit`);
  await page.getByLabel("Description").fill("Typed");
  const { release } = await holdBack(page, "PUT", `**/api/2/calls/${call}/`);
  await button(page, "Save").click();
  await page.getByRole("link", { name: "Workflows", exact: true }).first().click();
  await button(page, "Leave").click();
  await beginWorkflow(page);
  const saved = page.waitForResponse((response) => response.request().method() === "PUT");
  release();
  await (await saved).finished();
  await readOn(page);
  await saveWorkflow(page);
});

it("a deleted call leaves the reader on the page that they went to; Delete is sent once", async () => {
  const { page } = await pages.open(`/calls/${await makeCall("Deleted late")}`);
  const { sent, release } = await holdBack(page, "DELETE", "**/api/2/calls/*/");
  await page.getByRole("button", { name: /^Delete the call/ }).click();
  await button(page, "Delete").dblclick();
  await page.keyboard.press("Escape");
  await beginWorkflow(page);
  release();
  await page.getByText('Deleted the call "Deleted late"', { exact: true }).waitFor();
  await saveWorkflow(page);
  expect(sent).toHaveLength(1);
});

it("the question about leaving goes with the changes that it asks about", async () => {
  const id = await make("/auth/", {
    meta: { name: "Shop", domain: "example.com" },
    settings: { auth_type: "BASIC" },
  });
  const { page } = await pages.open(`/settings/${id}`);
  const description = page.getByLabel("Description");
  await description.fill("Typed");
  const { release } = await holdBack(page, "PUT", `**/api/2/auth/${id}/`);
  await button(page, "Save").click();
  await page.getByRole("link", { name: "Workflows", exact: true }).first().click();
  const question = page.getByRole("heading", { name: "Leave without saving?" });
  await question.waitFor();
  release();
  await question.waitFor({ state: "detached" });
  await description.fill("Typed more");
  await button(page, "Save").click();
  await page.getByRole("status").getByText("Saved").waitFor();
  expect(await question.count()).toBe(0);
});

async function beginVariable(page: Page, name: string) {
  const dialog = page.getByRole("dialog");
  await button(page, "New variable").click();
  await dialog.getByLabel("Name").fill(name);
  await dialog.getByLabel("Value").fill("1");
  return dialog;
}

it("a saved variable leaves the dialog of another open", async () => {
  const { page } = await pages.open("/environment");
  const dialog = await beginVariable(page, "FIRST");
  const { release } = await holdBack(page, "POST", "**/api/2/environment/**");
  await button(page, "Save").click();
  await button(page, "Cancel").click();
  await button(page, "Leave").click();
  await beginVariable(page, "SECOND");
  release();
  await page.getByText("Saved FIRST", { exact: true }).waitFor();
  await dialog.getByLabel("Value").fill("2");
  await button(page, "Save").click();
  await page.getByText("Saved SECOND", { exact: true }).waitFor();
});

it("a variable that is typed on while it is saved stays open", async () => {
  const { page } = await pages.open("/environment");
  const dialog = await beginVariable(page, "GROWING");
  const { sent, release } = await holdBack(page, "POST", "**/api/2/environment/**");
  await button(page, "Save").click();
  await expect.poll(() => sent.length).toBe(1);
  await dialog.getByLabel("Value").fill("12");
  release();
  await page.getByText("Saved, except for your changes since then").waitFor();
  await button(page, "Save").click();
  await page.getByText("Saved GROWING", { exact: true }).waitFor();
  expect(sent).toEqual(['{"value":"1"}', '{"value":"12"}']);
});

it("a refusal does not move the focus of a reader who types on", async () => {
  const call = await makeCall("Refused late");
  const { page } = await pages.open(`/calls/${call}/edit`);
  const body = JSON.stringify({ error_msg: "meta.name: is taken", error: 400 });
  const { release } = await holdBack(page, "PUT", `**/api/2/calls/${call}/`, (route) =>
    route.fulfill({ status: 400, body }),
  );
  await named(page).fill("Taken");
  await button(page, "Save").click();
  const description = page.getByLabel("Description");
  await description.click();
  await page.keyboard.type("abc");
  release();
  await page.getByText("is taken").waitFor();
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))");
  await page.keyboard.type("def");
  expect(await description.inputValue()).toBe("abcdef");
});

it("a dialog opens at once, before its content is read", async () => {
  const call = await makeCall("Deployed");
  const deployment = await pages.client.deploy(call, { frequency: 60, location_id: "local" });
  const { page } = await pages.open(`/calls/${call}`);
  const { release } = await holdBack(page, "GET", `**/api/2/deployments/${deployment}/`);
  await page.getByRole("button", { name: /^Edit the deployment/ }).click();
  const dialog = page.getByRole("dialog", { name: "Change the deployment of Deployed" });
  await dialog.getByText("Loading the deployment …").waitFor();
  release();
  await dialog.getByLabel("Runs").selectOption("every 6 hours");
  await button(page, "Save").click();
  await dialog.waitFor({ state: "detached" });
});

it("a deployment that was given up is not made at the other locations, and says where it is", async () => {
  const call = await makeCall("Given up");
  const { page } = await pages.open("/locations");
  await page.route("**/api/2/agents/info", async (route) => {
    const response = await route.fetch();
    const info = (await response.json()) as AgentsInfo;
    info.regions[0]?.locations.push("far", "near");
    Object.assign(info.locations, { far: "far", near: "near" });
    await route.fulfill({ response, json: info });
  });
  const { sent, release } = await holdBack(page, "POST", "**/api/2/deployments/", (route) =>
    route.fulfill({ status: 201, json: {} }),
  );
  await page.goto(`${pages.api}/calls/${call}`);
  await button(page, "Deploy").first().click();
  const dialog = page.getByRole("dialog");
  for (const place of ["far", "near"]) await dialog.getByLabel(place).check();
  await button(page, "Deploy").last().click();
  await expect.poll(() => sent.length).toBe(1);
  await button(page, "Cancel").click();
  await button(page, "Leave").click();
  await dialog.waitFor({ state: "detached" });
  const made = page.waitForResponse((response) => response.request().method() === "POST");
  release();
  await (await made).finished();
  await said(page, "Deployed at far, but not at local, near");
  await readOn(page);
  expect(sent).toHaveLength(1);
});

it("an announcement lets clicks through to what is behind it", async () => {
  const { page } = await pages.open("/environment");
  await beginVariable(page, "ANNOUNCED");
  await button(page, "Save").click();
  await said(page, "Saved ANNOUNCED");
  const isInTheWay = await page.evaluate(`{
    const shown = document.querySelector(".announcement");
    const { x, y, width, height } = shown.getBoundingClientRect();
    shown.contains(document.elementFromPoint(x + width / 2, y + height / 2));
  }`);
  expect(isInTheWay).toBe(false);
});

interface AgentsInfo {
  readonly regions: readonly { readonly locations: string[] }[];
  readonly locations: Record<string, string>;
}

it("the mark of a combobox stays at its option when others arrive", async () => {
  for (const name of ["Bravo", "Charlie", "Delta"]) await makeCall(name);
  const { page } = await pages.open("/workflows/new");
  await page.clock.install();
  const field = page.getByRole("combobox", { name: "Add a call" });
  await field.fill("a");
  await page.getByRole("option", { name: "Charlie" }).waitFor();
  await page.keyboard.press("Escape");
  await makeCall("Alpha");
  await page.clock.fastForward(31_000);
  const { release } = await holdBack(page, "GET", "**/api/2/calls/?*");
  await page.evaluate('dispatchEvent(new Event("visibilitychange"))');
  await page.clock.runFor(100);
  await field.click();
  const marked = page.locator("[role=option][aria-selected=true]");
  const other = page.locator("[role=option]").nth(1);
  const name = await other.innerText();
  await page.keyboard.press("ArrowDown");
  expect(await marked.innerText()).toBe(name);
  release();
  await page.getByRole("option", { name: "Alpha" }).waitFor();
  expect(await marked.innerText()).toBe(name);
});

const RUNS_SHOWN = /\/results\/\?order=desc.*limit=25/;

const run = (call: string) => pages.client.send("POST", `/calls/${call}/run`, {});

async function endedRuns(call: string): Promise<number> {
  const path = `/calls/${call}/results/?limit=100`;
  const { results } = await pages.client.send<Runs>("GET", path);
  return results.filter(({ meta }) => meta.result === "COMPLETE").length;
}

/** Makes a call, so many runs of it, and opens its page. */
async function openRuns(name: string, runs: number) {
  const call = await makeCall(name);
  for (let n = 0; n < runs; n += 1) await run(call);
  await expect.poll(() => endedRuns(call)).toBe(runs);
  const { page } = await pages.open(`/calls/${call}`);
  const rows = page.locator("table.results tbody tr");
  await expect.poll(() => rows.count()).toBe(Math.min(runs, 25));
  await page.getByText("Live", { exact: true }).first().waitFor();
  return { call, page, rows };
}

it("a list that is being read again is not begun anew with each result", async () => {
  const { call, page, rows } = await openRuns("Steady", 2);
  const { sent, release } = await holdBack(page, "GET", RUNS_SHOWN);
  let others = 0; // what else of the call is read with each result
  page.on("request", (request) => {
    if (request.url().endsWith(`/calls/${call}/overview/`)) others += 1;
  });
  await run(call);
  await expect.poll(() => [sent.length, others]).toEqual([1, 1]);
  await run(call);
  await expect.poll(() => others).toBe(2);
  expect(sent).toHaveLength(1);
  release();
  await expect.poll(() => rows.count()).toBe(4);
});

it("Show more adds runs while the list is read again", async () => {
  const { call, page, rows } = await openRuns("Many runs", 40);
  const { sent, release } = await holdBack(page, "GET", RUNS_SHOWN);
  await run(call);
  await expect.poll(() => sent.length).toBe(1);
  await button(page, "Show more").click({ force: true });
  await expect.poll(() => sent.length).toBeGreaterThan(1);
  release();
  await expect.poll(() => rows.count()).toBe(41);
});

it("runs stay until those of another filter are read, but not after an error", async () => {
  const { page, rows } = await openRuns("Filtered", 26);
  const runs = page.getByRole("region", { name: "Runs", exact: true });
  const [category, location] = [runs.getByLabel("Category"), runs.getByLabel("From location")];
  const height = () => runs.evaluate((element) => element.getBoundingClientRect().height);
  const before = await height();
  const { sent, release } = await holdBack(page, "GET", /category=FAIL/);
  await category.selectOption("FAIL");
  await expect.poll(() => sent.length).toBe(1);
  expect(await height()).toBe(before);
  await runs.locator("[aria-busy=true]").waitFor();
  await button(page, "Show more").click({ force: true });
  await readOn(page);
  expect(sent).toHaveLength(1);
  release();
  await runs.getByText("No results match").waitFor();
  const { release: refuse } = await holdBack(page, "GET", /location_id=local/, (route) =>
    route.fulfill({ status: 400, body: JSON.stringify({ error_msg: "refused", error: 400 }) }),
  );
  await location.selectOption("local");
  await runs.getByText("Loading results …").waitFor();
  await location.selectOption("");
  await category.selectOption("");
  await expect.poll(() => rows.count()).toBe(25);
  await location.selectOption("local");
  await runs.locator("[aria-busy=true]").waitFor();
  refuse();
  await runs.getByText("refused").waitFor();
  expect(await rows.count()).toBe(0);
});

it("the runs of one call are not shown for another", async () => {
  const other = await makeCall("Another call");
  const { page, rows } = await openRuns("One call", 1);
  const { sent, release } = await holdBack(page, "GET", RUNS_SHOWN);
  await page.evaluate(`{
    history.pushState(null, "", ${JSON.stringify(`/calls/${other}`)});
    dispatchEvent(new PopStateEvent("popstate"));
  }`);
  await page.getByRole("heading", { name: "Another call", level: 1 }).waitFor();
  await expect.poll(() => sent.length).toBe(1);
  expect(await rows.count()).toBe(0);
  release();
  await page.getByText("No runs yet.").waitFor();
});

it.each([
  ["the page", "", "Save"],
  ["the form", "/edit", "Save and run"],
])("%s of a call has nothing of its copy after going back", async (_what, path, save) => {
  const { page } = await pages.open(`/calls/${await makeCall("Original")}${path}`);
  await page.getByRole("link", { name: "Duplicate", exact: true }).click();
  await named(page).fill("Copy");
  await button(page, save).click();
  await page.getByRole("heading", { name: /^(?:Edit )?Copy$/, level: 1 }).waitFor();
  const panel = page.getByRole("region", { name: "Run now" });
  await panel.getByText("Context values", { exact: true }).click();
  await panel.getByRole("button", { name: "Add a value" }).click();
  await page.goBack();
  await page.getByRole("heading", { name: /^(?:Edit )?Original$/, level: 1 }).waitFor();
  await panel.getByText("Context values", { exact: true }).waitFor();
  expect(await button(page, "Run again").count()).toBe(0);
});

it("statistics stay, as what they are, until those of another period are read", async () => {
  const { page } = await openRuns("Counted", 1);
  const table = page.getByRole("region", { name: "Statistics by period" });
  await table.getByRole("columnheader", { name: "Day (UTC)" }).waitFor();
  const { sent, release } = await holdBack(page, "GET", /kind=YEAR/);
  await page.getByLabel("Period", { exact: true }).selectOption("YEAR");
  await expect.poll(() => sent.length).toBe(1);
  expect(await table.getAttribute("aria-busy")).toBe("true");
  expect(await table.getByRole("columnheader", { name: "Day (UTC)" }).count()).toBe(1);
  release();
  await table.getByRole("columnheader", { name: "Year (UTC)" }).waitFor();
  expect(await table.getAttribute("aria-busy")).toBe("false");
});

it("a run that ends leaves the page where the reader has scrolled", async () => {
  const { page, rows } = await openRuns("Scrolled", 25);
  const { promise, resolve } = Promise.withResolvers<void>();
  answering = promise;
  await button(page, "Run now").first().click();
  await page.getByText(/since it was queued/).waitFor();
  await page.evaluate("scrollTo(0, document.body.scrollHeight)");
  resolve();
  await page.getByText("Open this result").waitFor({ state: "attached" });
  await readOn(page);
  const isInView = await rows.last().evaluate((row) => {
    const { top, bottom } = row.getBoundingClientRect();
    return bottom > 0 && top < row.ownerDocument.documentElement.clientHeight;
  });
  expect(isInView).toBe(true);
});

interface Runs {
  readonly results: readonly { readonly meta: { readonly result: string } }[];
}
