// Rules for every page: it is accessible, fits its window, makes only its own requests, and runs
// nothing that users or targets write.
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Page } from "playwright-core";
import { keepPicture } from "../support/browser.ts";
import { BIDI, MARKER, MARKUP, SCRIPT_URL, unbroken } from "../support/hostile-text.ts";
import { demoPages, makeContent, PAGES, PLAIN } from "../support/pages-content.ts";
import type { NamedPage } from "../support/pages-content.ts";
import { findingsOf, startPages } from "../support/pages.ts";
import { startTarget } from "../support/target-server.ts";
import type { HttpTarget } from "../support/target-server.ts";

const WIDE = { width: 1280, height: 800 };
const MIDDLE = { width: 1024, height: 768 };
const NARROW = { width: 360, height: 740 };
const HISTORY_IS_THERE = /weeks of simulated results/;

const A_CALL = 'main a[href*="calls/0"]';

let pages: Awaited<ReturnType<typeof startPages>>;
let target: HttpTarget;

/** Waits until the page shows what it has loaded. */
async function settled(page: Page): Promise<void> {
  await page.locator("main h1").first().waitFor();
  await expect.poll(() => page.getByText(/^Loading .* …$/).count(), { timeout: 25_000 }).toBe(0);
}

/** Returns the controls of tables that the reader finds only by scrolling sideways. */
const outOfSight = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`
    [...document.querySelectorAll("main table:not([role=grid]) :is(a, button)")]
      .filter((one) => one.getBoundingClientRect().right > document.documentElement.clientWidth)
      .map(({ outerHTML }) => "beyond its right edge is " + outerHTML.slice(0, 200))`);

/** Returns the tables that are wider than their cards. */
const scrolling = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`
    [...document.querySelectorAll("main .scroll-x:has(> table.blocks)")]
      .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
      .map(({ ariaLabel }) => "it has to be scrolled: " + ariaLabel)`);

/** Returns what makes the page wider than its window. */
async function tooWide(page: Page): Promise<string[]> {
  const [wide, by] = await page.evaluate<[number, string]>(`(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    const beyond = [...document.querySelectorAll("main *")]
      .filter((one) => one.getBoundingClientRect().right > clientWidth + 1)
      .filter((one) => !one.closest(".scroll-x, .grid-table"));
    return [scrollWidth - clientWidth, beyond[0]?.outerHTML.slice(0, 200) ?? ""];
  })()`);
  return wide > 0 ? [`it is ${wide} px too wide, by ${by}`] : [];
}

/**
 * Returns tables without a name, rows without a header, and controls whose names do not tell them
 * apart from others in the same part of the page.
 */
const unclear = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`(() => {
    const PART = "[role=group], [role=region], [role=toolbar], fieldset, figure, dialog, nav, li, "
      + "section[aria-label], section[aria-labelledby]";
    const all = (what) => [...document.querySelectorAll("main " + what)];
    const isNamed = (table) => table.caption || table.ariaLabel || table.closest(PART);
    const tables = all("table").filter((table) => !isNamed(table));
    const rows = all("tbody tr").filter((row) => !row.querySelector("th"));
    const names = Map.groupBy(all(":is(button, summary, a.button)"), (one) => {
      const part = [...document.querySelectorAll(PART)].indexOf(one.closest(PART));
      return part + ": " + (one.ariaLabel ?? one.textContent);
    });
    const same = [...names.values()].filter(({ length }) => length > 1).map(([one]) => one);
    return [
      ...tables.map(({ outerHTML }) => "a table without a name: " + outerHTML.slice(0, 200)),
      ...rows.map(({ outerHTML }) => "a row without a header: " + outerHTML.slice(0, 200)),
      ...same.map(({ outerHTML }) => "a name that others have: " + outerHTML.slice(0, 200)),
    ];
  })()`);

/** Returns what is wrong with the page, in words. */
async function faultsOf(watched: Page, { name, path }: NamedPage): Promise<string[]> {
  const found: string[] = [];
  const note = (when: string, what: readonly string[]): void => {
    found.push(...what.map((text) => `${path}, ${when}: ${text}`));
  };
  await watched.setViewportSize(WIDE);
  await watched.emulateMedia({ colorScheme: "light" });
  await watched.goto(`${pages.api}${path}`);
  await settled(watched).catch((cause: Error) => note("opened", [cause.message]));
  const title = await watched.title();
  if (!/^\S.* · Sonde$/.test(title)) note("opened", [`its title is "${title}"`]);
  note("opened", await unclear(watched));
  await keepPicture(watched, `${name}-light`);
  note("light", await findingsOf(watched));
  await watched.emulateMedia({ colorScheme: "dark" });
  await keepPicture(watched, `${name}-dark`);
  note("dark", await findingsOf(watched, { only: ["color-contrast"] }));
  await watched.emulateMedia({ colorScheme: "light" });
  await watched.setViewportSize(MIDDLE);
  note("1024 px wide", [...(await tooWide(watched)), ...(await outOfSight(watched))]);
  note("1024 px wide", await scrolling(watched));
  await watched.setViewportSize(NARROW);
  note("360 px wide", await findingsOf(watched, { but: ["color-contrast"] }));
  note("360 px wide", [...(await tooWide(watched)), ...(await outOfSight(watched))]);
  await keepPicture(watched, `${name}-narrow`);
  await watched.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
  note("360 px wide and unfolded", await tooWide(watched));
  return found;
}

describe("the pages of a demo with history", { timeout: 300_000 }, () => {
  beforeAll(async () => {
    target = await startTarget((_, response) => {
      const text = `${MARKUP} ${BIDI} ${SCRIPT_URL} ${unbroken(2000)}`;
      response.writeHead(200, `OK ${MARKUP}`, {
        "content-type": "text/html",
        "x-markup": MARKUP,
        "x-unbroken": unbroken(2000),
        link: `<${SCRIPT_URL}>; rel=next`,
        refresh: `0; url=${SCRIPT_URL}`,
      });
      response.end(text);
    });
    pages = await startPages({
      args: ["serve", "--demo"],
      env: { SONDE_EGRESS_ALLOW: target.authority },
    });
    await vi.waitFor(() => expect(pages.sonde.stdout()).toMatch(HISTORY_IS_THERE), 100_000);
  }, 150_000);

  afterAll(async () => {
    await pages?.[Symbol.asyncDispose]();
    await target?.[Symbol.asyncDispose]();
  });

  it("are accessible in light and dark and at 360 px, and ask no other host", async () => {
    const content = await makeContent(pages.client, `${target.url}/checkout`, PLAIN);
    const all = [...PAGES, ...content, ...(await demoPages(pages.client))];
    const found = await Promise.all(
      [0, 1].map(async (half) => {
        const { page, faults, requested } = await pages.open("/not-a-page");
        const wrong: string[] = [];
        for (const each of all.filter((_, n) => n % 2 === half))
          wrong.push(...(await faultsOf(page, each)));
        return [...wrong, ...faults, ...requested.filter((url) => !url.startsWith(pages.api))];
      }),
    );
    expect(found.flat()).toEqual([]);
  });

  it("are reached with the keyboard, and the focus moves to new content", async () => {
    const { page } = await pages.open("/calls", { viewport: WIDE });
    await settled(page);
    const focused = (): Promise<string> =>
      page.evaluate("document.activeElement.textContent.trim() || document.activeElement.id");
    await page.keyboard.press("Tab");
    expect(await focused()).toBe("Skip to the content");
    const links: string[] = [];
    for (let steps = 0; steps < 20 && links.at(-1) !== "Locations"; steps += 1) {
      await page.keyboard.press("Tab");
      links.push(await focused());
    }
    expect(links).toEqual(["Sonde", "Calls", "Workflows", "Insights", "Reports", "Locations"]);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Locations", level: 1, exact: true }).waitFor();
    expect(await page.evaluate("document.activeElement.id")).toBe("main");
    await page.goBack();
    await page.getByRole("heading", { name: "Calls", level: 1, exact: true }).waitFor();
    expect(await page.evaluate("document.activeElement.id")).toBe("main");
  });

  it("say so when they cannot be loaded or shown, and other pages still open", async () => {
    const { page } = await pages.open("/calls", { viewport: WIDE });
    const go = (name: string) => page.getByRole("link", { name, exact: true }).click();
    const title = (name: string) => page.getByRole("heading", { name, level: 1 }).waitFor();
    await page.route("**/assets/reports-*", (route) => route.abort());
    await go("Reports");
    await title("This page could not be loaded");
    await page.route("**/api/2/insights/rank/*", (route) => route.fulfill({ json: [null] }));
    await go("Insights");
    await title("This page has failed");
    await page.unrouteAll();
    await go("Locations");
    await title("Locations");
    await go("Reports");
    await title("Reports");
    const rules = `[...document.styleSheets]
      .filter(({ href }) => href?.includes("/reports-"))
      .map(({ cssRules }) => cssRules.length > 0)`;
    expect(await page.evaluate(rules)).toEqual([true]);
  });

  it("load by themselves once Sonde is reached again", async () => {
    const { page } = await pages.open("/calls", { viewport: WIDE });
    await page.getByRole("table", { name: "Calls" }).waitFor();
    await page.route("**/assets/reports-*", (route) => route.abort());
    await page.getByRole("link", { name: "Reports", exact: true }).click();
    await page.getByRole("heading", { name: "This page could not be loaded" }).waitFor();
    await page.unrouteAll();
    // The events break off, and are heard again.
    for (const state of ["hidden", "visible"])
      await page.evaluate(`
        Object.defineProperty(document, "hidden", { configurable: true, value: ${state === "hidden"} });
        document.dispatchEvent(new Event("visibilitychange"));`);
    await page.getByRole("heading", { name: "Reports", level: 1, exact: true }).waitFor();
  });

  it("have a heading and a reason for missing objects, and nothing to retry", async () => {
    const { page } = await pages.open("/calls", { viewport: WIDE });
    const paths = ["calls", "results", "settings", "insights", "reports", "workflows"];
    const edits = ["calls/nope/edit", "reports/nope/edit", "workflow-results/nope"];
    const wrong: string[] = [];
    for (const path of [...paths.map((one) => `${one}/nope`), ...edits]) {
      await page.goto(`${pages.api}/${path}`);
      await page.locator("main").getByRole("alert").first().waitFor();
      const counts = [
        await page.locator("main h1").count(),
        await page.locator("main").getByRole("alert").count(),
        await page.getByRole("button", { name: "Try again" }).count(),
      ];
      if (counts.join() !== "1,1,0") wrong.push(`${path}: ${counts.join()}`);
    }
    expect(wrong).toEqual([]);
  });

  it("show text from users and targets as text, and keep their layout", async () => {
    const name = `${MARKUP} ${BIDI}`.slice(0, 150) + unbroken(50);
    const content = await makeContent(pages.client, `${target.url}/?q=${SCRIPT_URL}`, {
      name,
      tag: MARKUP.slice(0, 100),
      header: MARKUP,
      body: `${MARKUP} ${unbroken(2000)}`,
    });
    const { page, faults } = await pages.open("/calls", { viewport: NARROW });
    const wrong: string[] = [];
    for (const { name: of, path } of [...PAGES, ...content]) {
      await page.goto(`${pages.api}${path}`);
      await settled(page);
      wrong.push(...(await tooWide(page)).map((text) => `${path}: ${text}`));
      if ((await page.evaluate(`typeof ${MARKER}`)) !== "undefined")
        wrong.push(`${path} ran a script`);
      await keepPicture(page, `${of}-hostile`);
    }
    expect([...wrong, ...faults]).toEqual([]);
  });

  it("transfer at most 150 KB before the first rows are there", async () => {
    const { page } = await pages.open("/", { viewport: WIDE });
    await page.locator(A_CALL).first().waitFor();
    const sizes: { name: string; bytes: number }[] = await page.evaluate(`
      performance.getEntriesByType("navigation")
        .concat(performance.getEntriesByType("resource"))
        .filter(({ name }) => !/\\/api\\//.test(name))
        .map(({ name, transferSize }) => ({ name, bytes: transferSize }))`);
    const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
    expect(sizes.length).toBeGreaterThan(2);
    expect(total).toBeGreaterThan(10_000);
    expect(total).toBeLessThan(150 * 1024);
  });
});
