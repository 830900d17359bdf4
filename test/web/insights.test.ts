// Insights and reports in a real browser, on a history created while the service runs.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { keepPicture } from "../support/browser.ts";
import { MARKER, MARKUP } from "../support/hostile-text.ts";
import { expectAccessible, beyondEdgeOf, startPages } from "../support/pages.ts";
import { runSonde, startSonde } from "../support/process.ts";

interface Ranked {
  readonly id: string;
  readonly insights_id: string;
  readonly api_name: string;
  readonly score: number;
  readonly results: readonly (readonly [string, number])[];
}

interface Explained {
  readonly change: { readonly insights_id: string };
  readonly parts: Readonly<
    Record<"availability" | "outliers" | "consistency", { readonly points: number }>
  >;
}

const WIDE = { viewport: { width: 1280, height: 800 } };

/** A report is computed ten minutes after its period: around midnight, the clock is set off it. */
const env = {
  NODE_OPTIONS: `--import=${fileURLToPath(new URL("../support/stepping-clock.ts", import.meta.url))}`,
  CLOCK_OFFSET: String(awayFromMidnight(new Date()) * 60_000),
};

/** Returns minutes. */
function awayFromMidnight(now: Date): number {
  const minutes = now.getUTCHours() * 60 + now.getUTCMinutes();
  if (minutes < 15) return 15;
  return minutes >= 1425 ? -15 : 0;
}

let pages: Awaited<ReturnType<typeof startPages>>;

beforeAll(async () => {
  pages = await startPages({ env });
});

afterAll(() => pages[Symbol.asyncDispose]());

async function run(...args: readonly string[]): Promise<void> {
  const options = { env: { ...env, SONDE_DATA_DIR: pages.sonde.dataDir } };
  await using command = startSonde(args, options);
  expect(await command.exited, command.stderr()).toEqual({ code: 0, signal: null });
}

/**
 * Makes four calls at two locations for ten weeks, eight of them closed and whole, and their
 * scores.
 */
async function makeHistory(): Promise<void> {
  const size = ["--calls", "4", "--locations", "2", "--weeks", "10", "--frequency", "720"];
  await run("simulate", ...size);
  const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
  const from = day(Date.now() - 75 * 86_400_000);
  await run("insights", "compute", "--from", from, "--to", day(Date.now()));
}

const rankOf = async (query: string): Promise<readonly Ranked[]> => {
  const { results } = await pages.client.send<{ results: Ranked[] }>(
    "GET",
    `/insights/rank/?${query}`,
  );
  return results;
};

const texts = async (page: Page, selector: string): Promise<string[]> =>
  (await page.locator(selector).allInnerTexts()).map((text) => text.trim());

/** Expects no part of the page beyond the screen's edge. */
const expectFits = async (page: Page): Promise<void> =>
  expect(
    await page.evaluate("document.documentElement.scrollWidth - innerWidth"),
  ).toBeLessThanOrEqual(0);

async function lookAt(page: Page, name: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await expectAccessible(page);
    await keepPicture(page, `${name}-${colorScheme}`);
  }
  await page.setViewportSize({ width: 360, height: 740 });
  await expectFits(page);
  await expectAccessible(page);
  await keepPicture(page, `${name}-narrow`);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.emulateMedia({ colorScheme: "light" });
}

/** Returns the numbers in a text, with their minus sign and decimal point. */
const numbersOf = (text: string): number[] =>
  [...text.matchAll(/−?\d+(?:\.\d+)?/g)].map(([found]) => Number(found.replace("−", "-")));

it(
  "scores are ranked, and a report explains its score by parts that add up",
  { timeout: 180_000 },
  async () => {
    const { page, faults, requested } = await pages.open("/insights", WIDE);
    await page.getByRole("heading", { name: "No scored weeks yet" }).waitFor();
    await lookAt(page, "insights-empty");
    await makeHistory();
    // The page refreshes by itself.
    const ranked = await rankOf("weekly=1");
    expect(ranked.map(({ results }) => results.length)).toEqual([8, 8, 8, 8]);
    await page.getByRole("row", { name: ranked[0]?.api_name ?? "" }).waitFor();
    await page.reload();
    await page.getByRole("row", { name: ranked[0]?.api_name ?? "" }).waitFor();
    expect(await texts(page, ".ranking .name a")).toEqual(ranked.map(({ api_name }) => api_name));
    expect(await texts(page, ".ranking td.score")).toEqual(
      ranked.map(({ score }) => String(score)),
    );
    for (const { api_name, results } of ranked) {
      const row = page.getByRole("row", { name: api_name });
      const said = await row.getByRole("img").getAttribute("aria-label");
      expect(said?.split(", ").map((bar) => Number(bar.split(": ")[1]))).toEqual(
        results.map(([, score]) => score),
      );
    }
    await lookAt(page, "insights");
    for (const width of [640, 740, 961]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await beyondEdgeOf(page, "table.ranking"), `at ${width} px`).toBe(0);
    }
    await page.setViewportSize(WIDE.viewport);
    await page.getByRole("radio", { name: "Worst first" }).check({ force: true });
    await expect
      .poll(() => texts(page, ".ranking .name a"))
      .toEqual(ranked.toReversed().map(({ api_name }) => api_name));

    // The worst one, explained.
    const worst = ranked.at(-1) as Ranked;
    await page.getByRole("link", { name: worst.api_name }).click();
    await page.getByRole("heading", { name: `How ${worst.score} was computed` }).waitFor();
    const points = await texts(page, ".score-points figcaption > .row");
    const [kept = 0, ...costs] = points.flatMap(numbersOf);
    expect(kept).toBe(worst.score);
    expect(costs.reduce((left, cost) => left + cost, 999)).toBe(worst.score);
    const [equation = ""] = await texts(page, ".equation");
    const factors = numbersOf(equation.slice(equation.lastIndexOf("999")));
    const product = factors.slice(0, 4).reduce((whole, factor) => whole * factor, 1);
    expect(Math.abs(product - worst.score)).toBeLessThan(1);
    const bars = page.locator(".score-history li");
    await expect
      .poll(() => bars.locator(".value").allInnerTexts())
      .toEqual(worst.results.map(([, score]) => String(score)));
    // In print, folded parts are open.
    const failure = page.locator("details a").first();
    expect(await failure.isVisible()).toBe(false);
    await page.emulateMedia({ media: "print" });
    await failure.waitFor();
    await page.emulateMedia({ media: "screen" });
    await page.locator("summary", { hasText: "CONNECTION_ERROR" }).click();
    const href = await page.locator("details a").first().getAttribute("href");
    await pages.client.send("GET", `/${href}/`);
    await lookAt(page, "insight");

    // What moved agrees with the parts of both reports. The first report has none before it here.
    const reportOf = (id: string) => pages.client.send<Explained>("GET", `/insights/${id}/`);
    const { change, parts } = await reportOf(worst.insights_id);
    const before = await reportOf(change.insights_id);
    const moved = await texts(page, ".score-parts .moved");
    for (const [at, name] of (["availability", "outliers", "consistency"] as const).entries()) {
      const [now, then] = [parts[name].points, before.parts[name].points];
      const by = now === then ? "as in the week before" : `${Math.abs(now - then)} point`;
      expect(moved[at]).toContain(by);
    }
    const passed = page.getByRole("row", { name: /^Calls that passed/ });
    expect(await passed.locator("td[data-label=Now]").innerText()).toBe(
      await page.locator("dt:text-is('Passed') + dd").innerText(),
    );
    await bars.nth(6).click();
    await page
      .getByRole("heading", { name: `How ${worst.results[6]?.[1]} was computed` })
      .waitFor();

    // By month; until it is read, the weeks stay, as what they are.
    await page.getByRole("navigation").getByRole("link", { name: "Insights" }).click();
    await page.getByText("Last eight weeks").waitFor();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await page.route("**/api/2/insights/rank/?weekly=false*", async (route) => {
      await released;
      await route.continue();
    });
    await page.getByRole("radio", { name: "Monthly" }).check({ force: true });
    await page.locator("[aria-busy=true]").getByText("Last eight weeks").waitFor();
    release();
    await page.getByText("Last eight months").waitFor();
    const monthly = await rankOf("");
    await expect
      .poll(() => texts(page, ".ranking td.score"))
      .toEqual(monthly.map(({ score }) => String(score)));
    await page.getByRole("link", { name: monthly[0]?.api_name ?? "" }).click();
    await page.getByRole("heading", { name: `How ${monthly[0]?.score} was computed` }).waitFor();
    expect(await bars.count()).toBe(8);
    // What is not read yet is not said to be missing.
    await page.route("**/api/2/insights/?*", (route) => route.fulfill({ status: 503, json: {} }));
    await page.reload();
    await page.getByText("A proxy in front of Sonde answered with status 503").waitFor();
    expect((await bars.allTextContents()).filter((bar) => bar.includes("no report"))).toEqual([]);
    expect(faults).toEqual([]);
    expect(requested.filter((url) => !url.startsWith(pages.api))).toEqual([]);
  },
);

it("somebody else's call is ranked among that owner's calls, and is no link", async () => {
  const [best] = await rankOf("weekly=1");
  if (!best) throw new Error("the history has four calls");
  await pages.client.send("PUT", `/calls/${best.id}/`, { access: { stats: true } });
  const { stdout } = await runSonde(["keys", "create", "--owner", "ann", "--level", "VIEWER"], {
    env: { ...env, SONDE_DATA_DIR: pages.sonde.dataDir },
  });
  const { api_key: key } = JSON.parse(stdout) as { readonly api_key: string };
  const { page } = await pages.open(`/insights/${best.insights_id}`, { key });
  const rank = page.locator("dt", { hasText: /^Rank among/ });
  expect(await rank.innerText()).toBe("Rank among its owner's calls");
  expect(await rank.locator("+ dd").innerText()).toBe("1");
  const links = 'main a:is([href^="calls/"], [href^="results/"])';
  await expect.poll(() => page.locator(links).count()).toBe(0);
  expect(await page.getByRole("table", { name: "Worst hours" }).count()).toBe(1);
  const own = await pages.open(`/insights/${best.insights_id}`);
  await own.page.getByRole("table", { name: "Worst hours" }).getByRole("link").first().waitFor();
});

it("the figures of a score stay where the reader's colours are forced", async () => {
  const [best] = await rankOf("weekly=1");
  const { page } = await pages.open(`/insights/${best?.insights_id}`, { forcedColors: "active" });
  await page.getByRole("table", { name: "Worst hours" }).waitFor();
  const colourOf = (part: string): Promise<string> =>
    page.evaluate(`getComputedStyle(document.querySelector("${part}")).backgroundColor`);
  for (const part of [".score-history .bar", ".score-points .part", ".middle-half .range"])
    expect(await colourOf(part), part).not.toBe(await colourOf(".card"));
});

const csvOf = async (page: Page): Promise<readonly string[]> => {
  await page.getByRole("button", { name: "Export" }).click();
  // The field ignores a fifth digit: the interface refuses such a year.
  const to = page.getByLabel("To (UTC, inclusive)");
  const last = await to.inputValue();
  await to.pressSequentially("010120266");
  expect(await to.inputValue()).toMatch(/^\d{4}-/);
  const link = page.getByRole("link", { name: "Download" });
  await to.fill((await to.getAttribute("max")) ?? "");
  const untilTheLast = await page.request.get((await link.getAttribute("href")) ?? "");
  expect(untilTheLast.status()).toBe(200);
  await to.fill(last);
  const downloading = page.waitForEvent("download");
  await link.click();
  const text = await readFile(await (await downloading).path(), "utf8");
  await page.getByRole("button", { name: "Close" }).click();
  return text.trimEnd().split("\r\n");
};

it("a report of the last week moves on with the weeks", async () => {
  const { id } = await pages.client.send<{ id: string }>("POST", "/reports/", {
    meta: { name: "Last week" },
  });
  const { page } = await pages.open("/locations", WIDE);
  await page.clock.install();
  await page.goto(`${pages.api}/reports/${id}`);
  const week = page.getByRole("group", { name: "Which week" }).getByRole("status");
  const before = (await week.textContent()) ?? "";
  await page.clock.runFor(40_000); // what was read is stale, which the page has noticed
  await page.clock.fastForward(7 * 86_400_000);
  await expect.poll(() => week.textContent()).not.toBe(before);
  await pages.client.send("DELETE", `/reports/${id}/`);
});

it("scores that may still be arriving are read again in five seconds, later ones in thirty", async () => {
  const { page, requested } = await pages.open("/locations", WIDE);
  await page.clock.install();
  const reads = (): number => requested.filter((url) => url.includes("/insights/rank/")).length;
  await page.goto(`${pages.api}/insights`);
  await page.locator(".ranking .name a").first().waitFor();
  expect(reads()).toBe(1);
  const same = page.waitForResponse(/insights\/rank/);
  await page.clock.runFor(5000);
  await expect.poll(reads).toBe(2);
  await (await same).finished();
  await page.clock.runFor(20_000);
  expect(reads()).toBe(2);
  await page.clock.runFor(15_000);
  await expect.poll(reads).toBe(3);
});

it(
  "a report is created, viewed by period, exported, printed, changed and deleted",
  { timeout: 180_000 },
  async () => {
    const { client } = pages;
    const { page, faults } = await pages.open("/reports", WIDE);
    const button = (name: string) => page.getByRole("button", { name, exact: true });
    await page.getByRole("heading", { name: "No reports yet" }).waitFor();
    await keepPicture(page, "reports-empty");
    const [first, second] = await rankOf("weekly=1");
    if (!first || !second) throw new Error("the history has four calls");

    // A report without a name is refused, at its field.
    await page.getByRole("link", { name: "New report" }).click();
    await button("Create the report").click();
    await page.getByRole("alert").getByText("A value is required", { exact: true }).waitFor();
    await keepPicture(page, "report-fault");
    await page.getByLabel("Name", { exact: true }).fill(MARKUP);
    const groupName = page.getByLabel("Name of the group");
    await groupName.fill("=1+1");
    const addTo = async (group: string, call: string, location: number): Promise<void> => {
      const fields = page.getByRole("group", { name: group, exact: true });
      await fields.getByLabel("Location of new rows").selectOption({ index: location });
      await fields.getByRole("combobox", { name: "Add a call" }).fill(call);
      await page.getByRole("option", { name: call }).click();
    };
    await addTo("=1+1", first.api_name, 2);
    await addTo("=1+1", second.api_name, 2);
    await button("Add a group").click();
    await groupName.nth(1).fill(MARKUP);
    await addTo(MARKUP, first.api_name, 3);
    await lookAt(page, "report-form");
    await button("Create the report").click();
    await page.getByRole("heading", { name: MARKUP, level: 1 }).waitFor();
    const id = new URL(page.url()).pathname.split("/").at(-1) ?? "";
    expect(await client.send("GET", `/reports/${id}/`)).toMatchObject({
      groups: [
        { name: "=1+1", rows: [{ call_id: first.id }, { call_id: second.id }] },
        { name: MARKUP, rows: [{ call_id: first.id }] },
      ],
    });

    // The last whole week shows the numbers of the interface, side by side.
    await expect.poll(() => texts(page, ".mark")).toHaveLength(2);
    const before = (await texts(page, ".steps strong"))[0]?.split(" ")[2] ?? "";
    const { groups } = await client.send<{
      groups: { rows: { stats: { adv_stat: { p95: number } }[] }[] }[];
    }>("GET", `/reports/${id}/stats/?kind=WEEK&type=COMPLETE&limit=1&before=${before}`);
    const p95 = groups[0]?.rows.map(({ stats }) => stats[0]?.adv_stat.p95 ?? 0) ?? [];
    const shown = (await texts(page, ".side-by-side tbody td.by")).slice(0, 2);
    expect(shown.map((text) => Number.parseFloat(text))).toEqual(
      p95.map((ms) => (ms >= 1000 ? expect.closeTo(ms / 1000, 2) : expect.closeTo(ms, 0))),
    );
    const [best] = await texts(page, ".side-by-side .call:has(.mark.best) a");
    expect(best).toBe((p95[0] ?? 0) < (p95[1] ?? 0) ? first.api_name : second.api_name);
    await lookAt(page, "report");
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await page.route(`**/api/2/reports/${id}/stats/*`, async (route) => {
      await released;
      await route.continue();
    });
    await button("The week before").click();
    await page.locator(".report [aria-busy=true]").first().waitFor();
    release();
    await page.locator(".report [aria-busy=false]").first().waitFor();
    await button("The week after").click();
    const lines = await csvOf(page);
    expect(lines[0]).toMatch(/^group,call_id,name,location_id,time,count,/);
    expect(lines).toHaveLength(4);
    expect(lines[1]).toMatch(new RegExp(`^'=1\\+1,${first.id},`));
    expect(lines[1]).toContain(`${before}T00:00:00Z`);

    await page.emulateMedia({ media: "print" });
    for (const hidden of ["Delete", "Export", "Edit"])
      expect(await page.getByText(hidden, { exact: true }).isVisible()).toBe(false);
    await keepPicture(page, "report-print");
    await page.emulateMedia({ media: "screen" });
    await page.getByRole("radio", { name: "Year" }).check({ force: true });
    await page.getByText(/^\d{4}$/).waitFor();

    // A reader may look, and is offered nothing more.
    const { api_key: key } = await client.send<{ api_key: string }>("POST", "/api_keys/", {
      access_level: "VIEWER",
    });
    const reader = await pages.open(`/reports/${id}`, { key });
    await reader.page.locator(".side-by-side").first().waitFor();
    const swatch = "getComputedStyle(document.querySelector('.phase-legend .swatch'))";
    expect(await reader.page.evaluate(`${swatch}.backgroundColor`)).not.toBe("rgba(0, 0, 0, 0)");
    expect(await reader.page.getByRole("button", { name: "Delete" }).count()).toBe(0);
    expect(await reader.page.getByRole("link", { name: "Edit" }).count()).toBe(0);
    await reader.page.goto(`${pages.api}/reports`);
    await reader.page.getByRole("region", { name: "Reports" }).getByText(MARKUP).first().waitFor();
    await reader.page.setViewportSize({ width: 360, height: 740 });
    expect(await beyondEdgeOf(reader.page, "[aria-label=Reports] > .scroll-x > table")).toBe(0);
    await expectAccessible(reader.page);
    await keepPicture(reader.page, "reports-narrow");

    // Somebody else's change is not lost.
    await page.getByRole("link", { name: "Edit", exact: true }).click();
    await button(`Move ${MARKUP} up`).click();
    await button(`Remove ${second.api_name} at ${await locationAt(page, 1)}`).click();
    await client.send("PUT", `/reports/${id}/`, { meta: { description: "Changed elsewhere" } });
    await button("Save").click();
    await page.getByRole("heading", { name: "The report has been changed" }).waitFor();
    await button("Open it as it is now").click();
    await button(`Move ${MARKUP} up`).click();
    await button("Save").click();
    await page.getByText("Changed elsewhere").waitFor();
    await expect.poll(() => texts(page, ".report h2")).toEqual([MARKUP, "=1+1"]);
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("heading", { name: "No reports yet" }).waitFor();
    expect(await page.evaluate(`globalThis.${MARKER}`)).toBeUndefined();
    expect([...faults, ...reader.faults]).toEqual([]);
  },
);

/** Returns the location's name in a row of the first group. */
const locationAt = async (page: Page, row: number): Promise<string> => {
  const [first = ""] = await page
    .locator(".draft-rows li")
    .nth(row)
    .locator("option:checked")
    .allInnerTexts();
  return first.trim();
};
