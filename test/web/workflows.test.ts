// Workflows in a real browser: created, reordered, run, and viewed.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Locator, Page } from "playwright-core";
import { systemClock } from "../../src/runtime/clock.ts";
import { keepPicture } from "../support/browser.ts";
import { MARKER, MARKUP } from "../support/hostile-text.ts";
import { expectAccessible, beyondEdgeOf, OWNER_KEY, startPages } from "../support/pages.ts";
import { startTarget } from "../support/target-server.ts";
import type { HttpTarget } from "../support/target-server.ts";

let pages: Awaited<ReturnType<typeof startPages>>;
let target: HttpTarget;

/** `/basket` answers only signed-in clients. */
beforeAll(async () => {
  target = await startTarget(({ url, headers }, response) => {
    if (url === "/sign-in") response.setHeader("set-cookie", "session=from-sign-in; Path=/");
    const knows = headers.cookie === "session=from-sign-in";
    if (url === "/basket") response.statusCode = knows ? 200 : 401;
    if (url === "/broken") response.statusCode = 500;
    response.end();
  });
  pages = await startPages({ env: { SONDE_EGRESS_ALLOW: target.authority } });
}, 120_000);

afterAll(async () => {
  await pages?.[Symbol.asyncDispose]();
  await target?.[Symbol.asyncDispose]();
});

async function makeCall(name: string, path: string): Promise<string> {
  const url = `${target.url}${path}`;
  const body = { meta: { name }, request: { method: "GET", url } };
  return (await pages.client.send<{ id: string }>("POST", "/calls/", body)).id;
}

async function makeWorkflow(name: string, callIds: readonly string[]): Promise<string> {
  const body = { meta: { name }, workflow: { call_ids: callIds } };
  return (await pages.client.send<{ id: string }>("POST", "/workflows/", body)).id;
}

const callIdsOf = async (id: string): Promise<unknown> =>
  (await pages.client.send("GET", `/workflows/${id}/`))["workflow"]?.["call_ids"];

const steps = (page: Page): Locator => page.locator("ol.steps > li");

/** Returns the names of the calls, from first to last. */
const order = (page: Page): Promise<string[]> => steps(page).locator(".what > a").allTextContents();

async function addCall(page: Page, typed: string, name: string): Promise<void> {
  const field = page.getByRole("combobox", { name: "Add a call" });
  await field.fill(typed);
  await page.getByRole("option", { name }).waitFor();
  await field.press("Enter");
  await steps(page).filter({ hasText: name }).last().waitFor();
}

/** Drags the row at `from` by its handle, and drops it below the row at `to`. */
async function dragBelow(page: Page, from: number, to: number): Promise<void> {
  const grip = await steps(page).nth(from).locator(".grip").boundingBox();
  const row = await steps(page).nth(to).boundingBox();
  if (!grip || !row) throw new Error("there is no such row");
  const x = grip.x + grip.width / 2;
  await page.mouse.move(x, grip.y + grip.height / 2);
  await page.mouse.down();
  await page.mouse.move(x, row.y + row.height / 2, { steps: 5 });
  await page.mouse.move(x, row.y + row.height - 2, { steps: 3 });
  await expect.poll(() => page.locator(".drop-after, .drop-before").count()).toBe(1);
  await keepPicture(page, "workflow-dragged");
  await page.mouse.up();
}

async function expectGood(page: Page, picture: string): Promise<void> {
  await expectAccessible(page);
  await keepPicture(page, picture);
  await page.emulateMedia({ colorScheme: "dark" });
  await expectAccessible(page);
  await keepPicture(page, `${picture}-dark`);
  await page.emulateMedia({ colorScheme: "light" });
}

describe("workflows", { timeout: 180_000 }, () => {
  it("are created, reordered by dragging and by keys, and run with their cookies", async () => {
    const { page, faults, requested } = await pages.open("/workflows");
    await page.getByRole("heading", { name: "No workflows yet" }).waitFor();
    await expectGood(page, "workflows-empty");
    await page.setViewportSize({ width: 360, height: 740 });
    await keepPicture(page, "workflows-empty-narrow");
    await page.setViewportSize({ width: 1280, height: 800 });
    const [search, basket, signIn] = [
      await makeCall("Search", "/search"),
      await makeCall("Basket", "/basket"),
      await makeCall("Sign in", "/sign-in"),
    ];
    await page.getByRole("link", { name: "New workflow" }).first().click();
    await page.getByLabel("Name").fill("Buy a book");
    await addCall(page, "basket", "Basket");
    await page.getByRole("button", { name: "Remove Basket" }).click();
    await page.getByText("No calls yet.").waitFor();
    expect(await page.evaluate("document.activeElement.labels?.[0].textContent")).toBe(
      "Add a call",
    );
    await addCall(page, "basket", "Basket");
    await addCall(page, "get sear", "Search");
    await addCall(page, "sign", "Sign in");
    await page.getByLabel("Handle cookies").check();
    expect(await order(page)).toEqual(["Basket", "Search", "Sign in"]);

    const handle = steps(page).nth(2).locator(".grip");
    await handle.focus();
    await page.keyboard.press("ArrowUp");
    await page.getByText("Sign in is now call 2 of 3").waitFor();
    await page.keyboard.press("ArrowUp");
    await expect.poll(() => order(page)).toEqual(["Sign in", "Basket", "Search"]);
    const focused = "document.activeElement.getAttribute('aria-label')";
    expect(await page.evaluate(focused)).toMatch(/^Move Sign in:/);

    await dragBelow(page, 1, 2);
    await expect.poll(() => order(page)).toEqual(["Sign in", "Search", "Basket"]);
    await expectGood(page, "workflow-new");
    await page.getByRole("button", { name: "Create workflow" }).click();
    await page.getByRole("heading", { name: "Buy a book", level: 1, exact: true }).waitFor();
    const id = new URL(page.url()).pathname.split("/").at(-1) ?? "";
    expect(await callIdsOf(id)).toEqual([signIn, search, basket]);

    await page.getByText("Context values", { exact: true }).click();
    for (const [at, [name, value]] of [
      ["shop", MARKUP],
      ["password", "open sesame"],
    ].entries()) {
      await page.getByRole("button", { name: "Add a value" }).click();
      await page.getByLabel(`Name of value ${at + 1}`).fill(name ?? "");
      await page.getByLabel(`Value of value ${at + 1}`).fill(value ?? "");
    }
    await page.getByRole("button", { name: "Run now" }).first().click();
    await page.getByRole("link", { name: "Open this run" }).click();
    await page.getByRole("heading", { name: /^Run of 20/ }).waitFor();
    const bars = page.getByRole("figure", { name: "Calls of the run" }).getByRole("listitem");
    await expect
      .poll(() => bars.locator(".label").allTextContents())
      .toEqual(["1. Sign in", "2. Search", "3. Basket"]);
    expect(await bars.locator(".state").allTextContents()).toEqual(Array(3).fill("200 Passed"));
    const startedBy = page.locator("dt:text-is('Started by') + dd");
    expect(await startedBy.innerText()).toBe("Run now, on a page or through the API");
    const requests = page.getByRole("region", { name: "Requests and cookies" }).locator("tbody tr");
    await expect
      .poll(() => requests.locator("td:nth-child(n+3)").allTextContents())
      .toEqual(["–", "1", "–", "Yes", "–", "COMPLETE, 200", "Yes", "–", "COMPLETE, 200"]);
    const context = page.getByRole("region", { name: "Context" }).locator("tbody tr");
    expect(await context.locator("th").allTextContents()).toEqual(["SHOP", "PASSWORD"]);
    expect(await context.locator("td").allTextContents()).toEqual([MARKUP, "********"]);
    expect(await page.evaluate(`typeof ${MARKER}`)).toBe("undefined");
    await expectGood(page, "workflow-run");
    await page.setViewportSize({ width: 360, height: 740 });
    expect(await beyondEdgeOf(page, "table.requests")).toBe(0);
    await keepPicture(page, "workflow-run-narrow");
    await page.setViewportSize({ width: 1280, height: 800 });

    await page.getByRole("link", { name: "Workflows" }).click();
    const row = page.getByRole("row", { name: /Buy a book/ });
    await row.getByText("Passed").waitFor();
    await expectGood(page, "workflows");
    expect(faults).toEqual([]);
    expect(requested.filter((url) => !url.startsWith(pages.api))).toEqual([]);
  });

  it("say how long ago they ran, as time passes", async () => {
    const id = await makeWorkflow("Once", [await makeCall("Sign in", "/sign-in")]);
    await pages.client.send("POST", `/workflows/${id}/`, {});
    const { page } = await pages.open("/not-a-page");
    await page.clock.install();
    await page.goto(`${pages.api}/workflows`);
    const row = page.getByRole("row", { name: "Once" });
    await row.getByText(/Passed \d+ s ago/).waitFor();
    await page.clock.fastForward(40_000); // what was read is stale, which the page has noticed
    await page.clock.fastForward(3 * 3_600_000);
    await row.getByText("Passed 3 h ago").waitFor();
  });

  it("that have run did so in the past, also by a browser's clock that is behind", async () => {
    const id = await makeWorkflow("Just now", [await makeCall("Sign in", "/sign-in")]);
    await pages.client.send("POST", `/workflows/${id}/`, {});
    const { page } = await pages.open("/not-a-page");
    await page.clock.install({ time: systemClock.now() - 90_000 });
    await page.goto(`${pages.api}/workflows`);
    await page.getByRole("row", { name: "Just now" }).getByText("Passed 0 s ago").waitFor();
  });

  it("show faults at the call, and never overwrite unasked", async () => {
    const [first, gone] = [await makeCall("First", "/"), await makeCall("Gone", "/")];
    const id = await makeWorkflow("Shared work", [first]);
    const { page } = await pages.open(`/workflows/${id}`);
    await addCall(page, "gone", "Gone");
    await pages.client.send("DELETE", `/calls/${gone}/`);
    await page.getByRole("button", { name: "Save changes" }).click();
    await steps(page).nth(1).getByText("is not an API Call that you may run").waitFor();
    await keepPicture(page, "workflow-fault");
    await page.getByRole("button", { name: "Remove Gone" }).click();

    const added = await makeCall("Added elsewhere", "/");
    await pages.client.send("PUT", `/workflows/${id}/`, {
      meta: { name: "Renamed elsewhere" },
      workflow: { call_ids: [first, added] },
    });
    await page.getByLabel("Description").fill("Mine");
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByRole("heading", { name: "The workflow has been changed" }).waitFor();
    await expectAccessible(page);
    await keepPicture(page, "workflow-conflict");
    await page.getByRole("button", { name: "Open it as it is now" }).click();
    await page.getByRole("heading", { name: "Renamed elsewhere", level: 1, exact: true }).waitFor();
    expect(await page.getByLabel("Description").inputValue()).toBe("");
    await expect.poll(() => order(page)).toEqual(["First", "Added elsewhere"]);

    // Leaving with unsaved changes asks first.
    await page.getByLabel("Description").fill("Mine");
    await page.getByRole("link", { name: "Reports" }).click();
    await page.getByRole("heading", { name: "Leave without saving?" }).waitFor();
    await page.getByRole("button", { name: "Stay" }).click();

    // Nor are they lost with the session: after signing in again, the user goes on.
    await page.context().clearCookies();
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByRole("heading", { name: "Sign in again" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByLabel("API key").fill(OWNER_KEY);
    await expectGood(page, "signed-out-while-editing");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("Saved", { exact: true }).waitFor();
    expect(await page.getByLabel("Description").inputValue()).toBe("Mine");
    expect(await pages.client.send("GET", `/workflows/${id}/`)).toMatchObject({
      meta: { description: "Mine" },
    });

    await page.getByRole("button", { name: /^Delete the workflow/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "Workflows", level: 1, exact: true }).waitFor();
    await page.getByText("Deleted the workflow").waitFor();
    await expect.poll(() => page.getByRole("link", { name: "Renamed elsewhere" }).count()).toBe(0);

    // Signing out in one tab signs out the others.
    const other = await page.context().newPage();
    await other.goto(`${pages.api}/reports`);
    await other.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("API key").waitFor();
  });

  it("discard changes in favour of the version that was read since", async () => {
    const id = await makeWorkflow("Old name", []);
    const { page, faults } = await pages.open(`/workflows/${id}`);
    await page.getByRole("checkbox", { name: /^Stop/ }).uncheck();
    await pages.client.send("PUT", `/workflows/${id}/`, { meta: { name: "New name" } });
    await page.getByRole("button", { name: "Run now" }).last().click();
    await page.getByRole("heading", { name: "New name", level: 1, exact: true }).waitFor();
    await page.getByRole("button", { name: "Discard changes" }).click();
    const name = page.getByLabel("Name", { exact: true });
    await expect.poll(() => name.inputValue()).toBe("New name");
    await name.fill("Newer name");
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByRole("heading", { name: "Newer name", level: 1, exact: true }).waitFor();
    expect(faults).toEqual([]);
  });

  it("show a run that a failing call has ended, and no buttons to a viewer", async () => {
    const [broken, never] = [
      await makeCall(`Broken ${MARKUP}`, "/broken"),
      await makeCall("Never reached", "/"),
    ];
    const id = await makeWorkflow(`Checkout ${MARKUP}`, [broken, never]);
    const { workflow_result_id: runId } = await pages.client.send<{ workflow_result_id: string }>(
      "POST",
      `/workflows/${id}/run?wait=30`,
      {},
    );
    const { api_key } = await pages.client.send<{ api_key: string }>("POST", "/api_keys/", {
      access_level: "VIEWER",
    });

    const { page, faults } = await pages.open(`/workflows/${id}`, { key: api_key });
    await page.getByRole("heading", { name: `Checkout ${MARKUP}` }).waitFor();
    await steps(page).nth(1).getByText("Never reached").waitFor();
    const buttons = await page.getByRole("main").getByRole("button").allTextContents();
    expect(buttons).toEqual([]);
    await page.getByText("1 failed, 1 not made").waitFor();
    for (const width of [360, 768, 1024, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await beyondEdgeOf(page, "table.runs"), `at ${width} px`).toBe(0);
    }
    await expectGood(page, "workflow-read-only");

    await page.goto(`${pages.api}/workflow-results/${runId}`);
    const bars = page.getByRole("figure", { name: "Calls of the run" }).getByRole("listitem");
    await expect
      .poll(() => bars.locator(".state").allTextContents())
      .toEqual(["500 Failed", "Skipped"]);
    await bars.getByText("not_reached: call 1 of the workflow ended").waitFor();
    for (const width of [500, 700]) {
      await page.setViewportSize({ width, height: 800 });
      const bar = await bars.first().locator(".track").boundingBox();
      const next = await bars.nth(1).locator(".label").boundingBox();
      const gap = (next?.y ?? 0) - (bar?.y ?? 0) - (bar?.height ?? 0);
      expect(gap, `between a bar and the next name at ${width} px`).toBeGreaterThan(4);
    }
    await page.getByText("call 1 of 2 ended with HTTP_SERVER_ERROR").waitFor();
    await expectGood(page, "workflow-run-failed");
    expect(await page.evaluate(`typeof ${MARKER}`)).toBe("undefined");
    expect(faults).toEqual([]);
  });
});
