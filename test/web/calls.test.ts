// The list of calls in a real browser: live, searched, sorted, by keyboard, and very long.
import { expect, it } from "vitest";
import { systemClock } from "../../src/runtime/clock.ts";
import { create, createCall, startApi } from "../support/api.ts";
import { keepPicture, openPage, startBrowser } from "../support/browser.ts";
import { seedCalls } from "../support/many-calls.ts";
import { expectAccessible } from "../support/pages.ts";
import { aReport, aRun } from "../support/runs.ts";
import type { Outcome } from "../support/runs.ts";

const COUNT = 2000;

it(
  "many calls are found, sorted and walked through, and a result arrives by itself",
  { timeout: 180_000 },
  async () => {
    await using api = await startApi();
    await api.api.start();
    const url = String(api.api.address());
    await using browser = await startBrowser();
    const { page, faults, requested } = await openPage(browser);
    const headers = { authorization: `Bearer ${api.ann.key}` };
    await page.context().request.post(`${url}/api/2/session/`, { headers });

    await page.goto(`${url}/calls`);
    await page.getByText("No calls yet").waitFor();
    await expectAccessible(page);
    await keepPicture(page, "calls-none");

    const ids = await seedCalls(api.store, { count: COUNT, hours: 1, now: systemClock.now() });
    await page.reload();
    await page.getByText("2,000 calls").waitFor();
    const rows = page.locator("[data-row]");
    expect(await rows.count()).toBeLessThan(40);
    const table = page.getByRole("table", { name: "Calls" });
    expect(await table.getAttribute("aria-rowcount")).toBe(String(COUNT + 1));
    await expectAccessible(page);
    await keepPicture(page, "calls-many");
    const pageScrollsBy = "document.documentElement.scrollHeight - innerHeight";
    for (const width of [1024, 1440]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await page.evaluate(pageScrollsBy), `at ${width} px`).toBe(0);
    }

    const search = page.getByRole("searchbox", { name: "Search the calls" });
    await search.fill("no such call");
    await page.getByText("No call matches: change the search or the filter.").waitFor();
    expect(await table.count()).toBe(0);

    // A result arrives: the first call failed, as 0 is a multiple of 17.
    await search.fill("00000");
    await page.getByText("1 of 2,000 calls").waitFor();
    await rows.first().getByText("Failing").waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    const run = aRun({ target_id: ids[0] as string, due_time: systemClock.now() });
    await api.store.pendingRuns.insert([run]);
    await api.store.results.record([aReport(run)]);
    await rows.first().getByText("Passing").waitFor();

    // Filters are kept in the address.
    await search.fill("shop-3.example");
    await page.getByLabel("Tag").selectOption("shop-3");
    await page.getByRole("group", { name: "State" }).getByText("Warning").click();
    await expect.poll(() => page.url()).toContain("q=shop-3.example&tag=shop-3&state=warn");
    const found = await page.getByText(/^\d+ of 2,000 calls$/).textContent();
    await page.reload();
    await page.getByText(String(found)).waitFor();
    const address = page.url();
    await page.getByRole("link", { name: "Calls", exact: true }).click();
    await page.getByText("2,000 calls", { exact: true }).waitFor();
    expect(await search.inputValue()).toBe("");
    await page.goBack();
    await page.getByText(String(found)).waitFor();
    expect(page.url()).toBe(address);
    await search.fill("");
    await page.getByLabel("Tag").selectOption("");
    await page.getByRole("group", { name: "State" }).getByText("Warning").click();

    // Sort by name, then walk through with the keyboard.
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page
      .getByRole("columnheader", { name: "Call" })
      .and(page.locator("[aria-sort=ascending]"))
      .waitFor();
    await rows.first().getByText("call 00000 of").waitFor();
    await rows.first().focus();
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => page.locator(":focus").textContent()).toContain("call 00001 of");
    await page.keyboard.press("End");
    await expect.poll(() => page.locator(":focus").textContent()).toContain("call 01999 of");
    expect(await rows.count()).toBeLessThan(40);
    await page.keyboard.press("Enter");
    await expect.poll(() => page.url()).toBe(`${url}/calls/${ids[1999]}`);

    // The way back leads to the same row, also from a link.
    await page.getByRole("heading", { name: /^call 01999/ }).waitFor();
    await page.goBack();
    const last = page.locator("[data-row='1999']");
    await last.waitFor();
    expect(await last.getAttribute("tabindex")).toBe("0");
    const top = () => table.evaluate(({ scrollTop }) => scrollTop);
    await table.evaluate((element) => element.scrollTo(0, 50_000));
    await page
      .getByRole("link", { name: /^call 0090\d/ })
      .first()
      .click();
    await page.getByRole("heading", { name: /^call 0090\d/ }).waitFor();
    await page.goBack();
    await expect.poll(top).toBe(50_000);
    await page
      .getByRole("link", { name: /^call 0090\d/ })
      .first()
      .waitFor();
    await page.getByRole("link", { name: "Locations", exact: true }).click();
    await page.getByRole("heading", { name: "Locations", level: 1, exact: true }).waitFor();
    await page.getByRole("link", { name: "Calls", exact: true }).click();
    await page.getByText("2,000 calls", { exact: true }).waitFor();
    expect(await top()).toBe(0);

    await page.setViewportSize({ width: 360, height: 740 });
    await page.emulateMedia({ colorScheme: "dark" });
    await page.goto(`${url}/calls`);
    await page.getByText("2,000 calls").waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(360);
    await expectAccessible(page);
    await keepPicture(page, "calls-narrow");
    expect(faults).toEqual([]);
    expect(requested.filter((each) => !each.startsWith(url))).toEqual([]);
  },
);

it(
  "the focus stays on a call that its results sort out of view",
  { timeout: 120_000 },
  async () => {
    await using api = await startApi();
    await api.api.start();
    const url = String(api.api.address());
    await seedCalls(api.store, { count: 300, hours: 1, now: systemClock.now() });
    await using browser = await startBrowser();
    const { page } = await openPage(browser);
    const headers = { authorization: `Bearer ${api.ann.key}` };
    await page.context().request.post(`${url}/api/2/session/`, { headers });
    await page.goto(`${url}/calls`);
    await page.getByText("Live", { exact: true }).waitFor();
    const rows = page.locator("[data-row]");
    const passes = async (name: RegExp): Promise<void> => {
      const link = rows.filter({ hasText: name }).getByRole("link");
      const target_id = (await link.getAttribute("href"))?.split("/").at(-1) ?? "";
      const run = aRun({ target_id, due_time: systemClock.now() });
      await api.store.pendingRuns.insert([run]);
      await api.store.results.record([aReport(run)]);
      await expect.poll(() => rows.first().textContent()).not.toMatch(name);
    };
    const focused = page.locator(":focus");
    await rows.filter({ hasText: "call 00000 of" }).focus();
    await passes(/call 00000 of/);
    expect(await focused.textContent()).toContain("call 00000 of");
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => focused.textContent()).toContain("call 00001 of");
    await page.keyboard.press("Home");
    await expect.poll(() => focused.textContent()).toContain("call 00017 of");
    expect(await page.locator("[data-row][tabindex='0']").textContent()).toContain("call 00017 of");
    await rows.first().getByRole("link").focus();
    await passes(/call 00017 of/);
    expect(await focused.textContent()).toBe("call 00017 of shop 3");

    // It is no longer listed: the focus moves to the call in its place.
    await page.goto(`${url}/calls?state=fail`);
    await rows.first().focus();
    await passes(/call 00034 of/);
    expect(await focused.textContent()).toContain("call 00051 of");
  },
);

it(
  "a call that fails at one location says so, in the list and on its page, whichever ran last",
  { timeout: 120_000 },
  async () => {
    await using api = await startApi();
    await api.api.start();
    const url = String(api.api.address());
    const { id } = await createCall(api, {
      meta: { name: "half broken", tags: ["checkout", "payments", "team blue"] },
    });
    for (const location_id of ["local", "far"])
      await create(api, "/deployments/", {
        deployment: { target_id: id, location_id, frequency: 60 },
      });
    const ended = async (location_id: string, result: Outcome["result"]): Promise<void> => {
      const run = aRun({ target_id: id, location_id, due_time: systemClock.now() });
      await api.store.pendingRuns.insert([run]);
      await api.store.results.record([aReport(run, { ...(result && { result }) })]);
    };
    await ended("far", "HTTP_SERVER_ERROR");
    await ended("local", "COMPLETE");
    await using browser = await startBrowser();
    const { page, faults } = await openPage(browser);
    const headers = { authorization: `Bearer ${api.ann.key}` };
    await page.context().request.post(`${url}/api/2/session/`, { headers });

    await page.goto(`${url}/calls?state=fail`);
    const row = page.locator("[data-row]");
    await row.getByText("Failing at 1 of 2 locations").waitFor();
    await row.getByText("checkout").waitFor();
    expect(await row.getByText("+2").getAttribute("title")).toBe("payments, team blue");
    await page.getByText("Live", { exact: true }).waitFor();
    await expectAccessible(page);
    await keepPicture(page, "calls-one-location");
    // Its state changes at the other location only, then at this one.
    await ended("local", "HTTP_SERVER_ERROR");
    await row.getByText("Failing at both locations").waitFor();
    await ended("local", "COMPLETE");
    await row.getByText("Failing at 1 of 2 locations").waitFor();
    await ended("far", "COMPLETE");
    await page.getByText("0 of 1 call", { exact: true }).waitFor();

    for (const location_id of ["far", "local"]) await ended(location_id, "UNABLE_TO_RUN");
    await page.goto(`${url}/calls`);
    const state = row.locator(".col-state", { hasText: "Unable to run" });
    // Nothing of it is cut off.
    expect(await state.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(
      0,
    );

    await ended("far", "MISSED");
    await ended("local", "COMPLETE");
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto(`${url}/calls/${id}`);
    await page.locator(".page-head").getByText("Missed at 1 of 2 locations").waitFor();
    await page.getByText(/The last run at The far one was missed/).waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(360);
    await ended("far", "COMPLETE");
    await page.locator(".page-head").getByText("Passing").waitFor();
    expect(faults).toEqual([]);
  },
);
