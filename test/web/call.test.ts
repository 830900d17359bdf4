// A call and its results in a real browser: the demo, and a history created while it runs.
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { keepPicture } from "../support/browser.ts";
import { formatMs } from "../../web/src/number.ts";
import { expectAccessible, startPages } from "../support/pages.ts";

const WIDE = { viewport: { width: 1280, height: 800 } };
/** A4 with the margins of Chromium, in pixels. */
const PAPER = { width: 718, height: 1047 };
const NARROW = { viewport: { width: 360, height: 800 } };
const TIMEOUT = { timeout: 180_000 };

let pages: Awaited<ReturnType<typeof startPages>>;

beforeAll(async () => {
  pages = await startPages({ args: ["serve", "--demo"] });
}, 120_000);

afterAll(() => pages[Symbol.asyncDispose]());

interface Named {
  readonly id: string;
  readonly meta: { readonly name: string };
}

async function callNamed(name: string): Promise<string> {
  const list = async () =>
    (await pages.client.send<{ results: Named[] }>("GET", "/calls/?limit=1000")).results;
  await expect
    .poll(async () => (await list()).map(({ meta }) => meta.name), { timeout: 90_000 })
    .toContain(name);
  return (await list()).find(({ meta }) => meta.name === name)?.id ?? "";
}

async function resultShown(page: Page): Promise<{ timing: { processing: number } }> {
  const id = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  return pages.client.send("GET", `/results/${id}/`);
}

/** Waits until there is history, which is created while Sonde runs. */
const haveHistory = async (id: string): Promise<void> =>
  expect
    .poll(
      async () => {
        const path = `/calls/${id}/stats/before?kind=DAY`;
        return (await pages.client.send<{ stats: object[] }>("GET", path)).stats.length;
      },
      { timeout: 90_000 },
    )
    .toBeGreaterThan(30);

const section = (page: Page, title: string): Locator =>
  page.locator("section.card", { has: page.getByRole("heading", { name: title, exact: true }) });

/** Drags over a fifth of the plot's width, and down by `below` pixels under its lower edge. */
async function dragOver(page: Page, plot: Locator, below?: number): Promise<void> {
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.locator(".u-over").boundingBox();
  if (!box) throw new Error("the chart is not drawn");
  await page.mouse.move(box.x + box.width * 0.4, box.y + box.height / 2);
  await page.mouse.down();
  const end = below === undefined ? box.height / 2 : box.height + below;
  await page.mouse.move(box.x + box.width * 0.6, box.y + end, { steps: 5 });
  await page.mouse.up();
}

/** Returns how far the page's contents moved while loading: above 0.1 is noticeable. */
const shiftOf = (page: Page): Promise<number> =>
  page.evaluate(`new Promise((resolve) => {
    setTimeout(() => resolve(0), 500); // nothing has moved
    new PerformanceObserver((list) =>
      resolve(list.getEntries().reduce((sum, { value }) => sum + value, 0)),
    ).observe({ type: "layout-shift", buffered: true });
  })`);

async function expectClean({ faults, requested }: Awaited<ReturnType<typeof pages.open>>) {
  expect(faults).toEqual([]);
  expect(requested.filter((url) => !url.startsWith(pages.api))).toEqual([]);
}

it(
  "names the slow phase of a call, and shows a result of it with its waterfall",
  TIMEOUT,
  async () => {
    const id = await callNamed("Demo: slow");
    const watched = await pages.open(`/calls/${id}`, {
      ...WIDE,
      permissions: ["clipboard-read", "clipboard-write"],
    });
    const { page } = watched;
    await page.getByText(/Processing takes [\d.]+ m?s of [\d.]+ m?s/).waitFor();
    await page
      .getByText(
        / hours; at most .* of (?:it|the last|any of the last \d+) may be Sonde's own work$/,
      )
      .waitFor();
    await section(page, "How calls ended").getByText("COMPLETE").waitFor();
    await keepPicture(page, "call-slow");

    await section(page, "Runs").getByRole("link").filter({ hasText: "UTC" }).first().click();
    await page.getByRole("heading", { name: "Result of Demo: slow" }).waitFor();
    const waterfall = page.getByRole("figure", { name: "Phases of the call" });
    const line = waterfall.getByRole("listitem").filter({ hasText: /^Processing\d/ });
    await line.waitFor(); // the newest run may be queued yet
    const { timing } = await resultShown(page);
    expect(timing.processing).toBeGreaterThan(500);
    expect(await line.innerText()).toMatch(/^Processing\s/);
    expect(await line.innerText()).toContain(formatMs(timing.processing));
    await page.getByText(/Uncertainty: at most .* m?s of .* m?s may be Sonde's own/).waitFor();
    await page.getByText('"status": "ok"').waitFor();
    const startedBy = page.locator("dt:text-is('Started by') + dd");
    expect(await startedBy.innerText()).toMatch(/^(?:Run now|Schedule)$/);

    await page.getByRole("button", { name: "Copy as cURL" }).click();
    const copied = await page.evaluate("navigator.clipboard.readText()");
    expect(copied).toMatch(/^curl http:\/\/127\.0\.0\.1:\d+\/slow \\\n {2}--header/);
    await expectAccessible(page);
    await keepPicture(page, "result");
    await page.emulateMedia({ colorScheme: "dark" });
    await expectAccessible(page);
    await expectClean(watched);
  },
);

it("shows since when and where a call is slower, as its history is written", TIMEOUT, async () => {
  const id = await callNamed("Simulated: sales report");
  const watched = await pages.open(`/calls/${id}`, WIDE);
  const { page } = watched;
  const glance = page.getByRole("region", { name: "At a glance" });
  const said = /Since \d+ \w+ 1[1-6]:00 UTC it takes 2\.[3-7] times as long/;
  await glance.getByText(said).waitFor({ timeout: 120_000 });
  // After the locations of failed calls, if there are any in 24 hours.
  await glance
    .getByText(/at all 3 locations, most at Simulated: Virginia: [23]\.\d times as long/i)
    .waitFor();
  await glance
    .getByText(/[1-5]\d days before the change, \d\d since/)
    .waitFor({ timeout: 120_000 });
  await glance.getByTitle("Show the two weeks before and after").click();
  await section(page, "Latency: p50").getByText("Each point is a day").waitFor();
  await keepPicture(page, "call-change");
  await page.goto(`${pages.api}/locations`);
  const virginia = section(page, "Simulated: Virginia");
  await virginia.getByText("Its results are simulated").waitFor();
  expect(await virginia.getByText("No agent", { exact: true }).count()).toBe(0);
  await expectClean(watched);
});

it("zooms and switches the charts, and keeps the view in the address", TIMEOUT, async () => {
  const id = await callNamed("Simulated: shopping cart");
  await haveHistory(id);
  const watched = await pages.open(`/calls/${id}?range=week`, WIDE);
  const { page } = watched;
  const latency = section(page, "Latency: p50");
  await latency.locator("canvas").waitFor();
  await page.getByText("No clear change in").or(page.getByText("times as long")).waitFor();
  expect(await latency.getByText("Simulated: Frankfurt").count()).toBeGreaterThan(0);
  for (const title of ["Latency: p50", "Phases"])
    await section(page, title).getByText("Times are in UTC.").waitFor();
  await section(page, "Days").getByText("in UTC").waitFor();
  expect(await section(page, "Distribution").getByText("Times are in").count()).toBe(0);

  const expectDays = async (): Promise<void> => {
    await expect.poll(() => page.url()).toMatch(/\?from=.*&to=/);
    const { searchParams } = new URL(page.url());
    const [from, to] = ["from", "to"].map((name) => Date.parse(searchParams.get(name) ?? ""));
    const days = ((to ?? 0) - (from ?? 0)) / 86_400_000;
    expect(days).toBeGreaterThan(1);
    expect(days).toBeLessThan(2.2);
  };
  await dragOver(page, latency, 40);
  await expectDays();
  await page.goto(`${pages.api}/calls/${id}?range=week`);
  await latency.locator("canvas").waitFor();
  await dragOver(page, latency);
  await expectDays();
  const { searchParams } = new URL(page.url());
  await latency.getByText(/^[\d-]{10} \d\d:\d\d to [\d-]{10} \d\d:\d\d UTC$/).waitFor();
  await latency.getByRole("button", { name: "Zoom out" }).click();
  await expect.poll(() => page.url()).not.toContain(`from=${searchParams.get("from")}`);
  await latency.getByRole("button", { name: "Zoom in" }).focus();
  await page.keyboard.press("0");
  await expect.poll(() => page.url()).not.toContain("from=");

  await page.getByRole("radio", { name: "Month" }).check({ force: true });
  const controls = page.getByRole("region", { name: "What the charts show" });
  await controls.getByLabel("Latency").selectOption("p95");
  await controls.getByLabel("Location").selectOption("sim-singapore");
  await section(page, "Latency: p95").getByText("Each point is a day").waitFor();
  expect(page.url()).toMatch(/range=month.*measure=p95.*location=sim-singapore/);
  await section(page, "Latency: p95").getByText("Show as a table").click();
  const rows = section(page, "Latency: p95").locator("tbody tr");
  await expect.poll(() => rows.count()).toBeGreaterThan(25);
  await section(page, "Distribution")
    .getByText(/outliers? of .* or more/)
    .waitFor();
  await keepPicture(page, "call-month");
  // Calls that failed are no outliers, however long they took.
  await page.goto(`${page.url()}&calls=all`);
  await section(page, "Distribution").getByText("Show as a table").click();
  const heads = section(page, "Distribution").getByRole("columnheader");
  await expect.poll(() => heads.allInnerTexts()).toEqual(["From", "Calls"]);
  await expectClean(watched);
});

const dayOf = (time: string): string => time.slice(0, 10);

it("says which whole hours it counts, unless they are the range", TIMEOUT, async () => {
  const id = await callNamed("Simulated: shopping cart");
  await haveHistory(id);
  const day = dayOf(new Date(Date.now() - 2 * 86_400_000).toISOString());
  const inDay = (from: string, to: string) => `/calls/${id}?from=${day}T${from}Z&to=${day}T${to}Z`;
  const { page } = await pages.open(inDay("09:58", "10:03"), WIDE);
  for (const title of ["Distribution", "How calls ended"])
    await section(page, title)
      .getByText(`Whole hours: ${day} 09:00 to ${day} 11:00 UTC`, { exact: true })
      .waitFor();
  await page.goto(`${pages.api}${inDay("09:00", "11:00")}`);
  await section(page, "How calls ended").getByText("COMPLETE").waitFor();
  await section(page, "Distribution").locator("canvas").waitFor();
  expect(await page.getByText(/^Whole/).count()).toBe(0);
});

it("leads from a day of the calendar to its calls, and filters results", TIMEOUT, async () => {
  const id = await callNamed("Simulated: shopping cart");
  await haveHistory(id);
  const watched = await pages.open(`/calls/${id}`, WIDE);
  const { page } = watched;
  const days = section(page, "Days");
  await days.locator("thead td").first().waitFor();
  const months = await days.locator("thead td:not(:empty)").allTextContents();
  const names: string[] = await page.evaluate(`[...document.querySelectorAll("[data-day]")]
    .sort((a, b) => a.dataset.day - b.dataset.day).map(({ ariaLabel }) => ariaLabel)`);
  const weekEnds = names.filter((_, at) => at % 7 === 6 || at === names.length - 1);
  expect(months).toEqual([...new Set(weekEnds.map((name) => name.split(" ")[1]))]);
  const bad = days.getByRole("button", { name: /9\d\.\d+ % of \d+ calls passed/ }).first();
  await bad.focus();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.url()).toMatch(/from=.*T00%3A00Z&to=.*T00%3A00Z/);

  const runs = section(page, "Runs");
  await runs.getByLabel("Category").selectOption("NONE");
  await page.getByRole("button", { name: "Show these runs" }).click();
  const day = /from=(.{10})T/.exec(page.url())?.[1] ?? "no day";
  await expect.poll(() => runs.getByLabel("From (UTC)").inputValue()).toBe(`${day}T00:00`);
  await expect
    .poll(async () => new Set((await runs.locator("time").allTextContents()).map(dayOf)))
    .toEqual(new Set([day]));
  await runs.getByLabel("Category").selectOption("FAIL");
  await expect.poll(() => runs.locator("tbody tr .state.pass").count()).toBe(0);
  await runs.locator("tbody tr .state.fail").first().waitFor();
  await runs.getByLabel("From (UTC)").fill("2020-01-01T00:00");
  await runs.getByLabel("Before (UTC)").fill("2020-01-02T00:00");
  await runs.getByText("No results match").waitFor();
  await runs.getByLabel("From (UTC)").fill("");
  await runs.getByLabel("Before (UTC)").fill("");
  await runs.getByRole("button", { name: "Show more" }).click();
  await expect.poll(() => runs.locator("tbody tr").count()).toBeGreaterThan(25);
  await runs.getByRole("link").filter({ hasText: "UTC" }).first().click();
  await page.getByText("Uncertainty:").waitFor();
  await page.getByRole("link", { name: "← Previous" }).click();
  await page.getByRole("link", { name: "Next →" }).waitFor();
  await expectClean(watched);
});

it("shows more statistics, and leaves the focus where it was", TIMEOUT, async () => {
  const id = await callNamed("Simulated: shopping cart");
  await haveHistory(id);
  const { page } = await pages.open(`/calls/${id}`, WIDE);
  const statistics = section(page, "Statistics");
  await statistics.getByLabel("Period", { exact: true }).selectOption("HOUR");
  const rows = statistics.locator("tbody tr");
  await statistics.getByRole("columnheader", { name: "Hour from" }).waitFor();
  expect(await rows.count()).toBe(14);
  await statistics.getByRole("button", { name: "Show more" }).focus();
  for (const shown of [56, 224]) {
    await page.keyboard.press("Enter");
    await expect.poll(() => rows.count()).toBe(shown);
  }
  expect(await page.evaluate("document.activeElement.textContent")).toBe("Show more");
  await statistics.getByLabel("Result of the runs").selectOption("COMPLETE");
  await page.reload();
  await statistics.getByRole("columnheader", { name: "Fastest" }).waitFor();
  await statistics.getByRole("columnheader", { name: "Hour from" }).waitFor();
});

it("shows the newest values until the pointer is over the chart", TIMEOUT, async () => {
  const id = await callNamed("Simulated: shopping cart");
  await haveHistory(id);
  const { page } = await pages.open(`/calls/${id}?range=week`, WIDE);
  const latency = section(page, "Latency: p50");
  const plot = latency.locator(".u-over");
  await plot.scrollIntoViewIfNeeded();
  const shownAt = latency.locator(".legend .at");
  const newest = (await shownAt.textContent()) ?? "";
  await plot.hover({ position: { x: 5, y: 50 } });
  await expect.poll(async () => ((await shownAt.textContent()) ?? "") < newest).toBe(true);
  await page.getByRole("heading", { level: 1 }).hover();
  await expect.poll(() => shownAt.textContent()).toBe(newest);
});

it("keeps a chart's table open, and the focus on it, as the range moves on", TIMEOUT, async () => {
  const id = await callNamed("Demo: steady");
  const { page } = await pages.open("/not-a-page", WIDE);
  await page.clock.install();
  await page.goto(`${pages.api}/calls/${id}?range=hour`);
  const latency = section(page, "Latency: single calls");
  await latency.locator("summary").press("Enter");
  const rows = latency.locator("tbody tr");
  await rows.first().waitFor();
  for (const minute of [1, 2]) {
    const before = await rows.count();
    await page.clock.fastForward(60_000);
    await pages.client.send("POST", `/calls/${id}/run`, {});
    await expect.poll(() => rows.count(), { message: `minute ${minute}` }).toBeGreaterThan(before);
  }
  expect(await page.evaluate("document.activeElement.tagName")).toBe("SUMMARY");
});

it("keeps a chart's table open, and the focus, while something else is read", TIMEOUT, async () => {
  const id = await callNamed("Simulated: shopping cart");
  await haveHistory(id);
  const { page } = await pages.open(`/calls/${id}?range=week`, WIDE);
  const table = page.getByRole("region", { name: "Latency over time, as a table" });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  await section(page, "Latency: p50").locator("summary").click();
  await table.waitFor();
  await page.route("**/stats/since?*", async (route) => {
    await released;
    await route.continue();
  });
  const controls = page.getByRole("region", { name: "What the charts show" });
  await controls.getByLabel("Latency").selectOption("p95");
  await section(page, "Latency: p50").and(page.locator("[aria-busy=true]")).waitFor();
  release();
  await section(page, "Latency: p95").and(page.locator("[aria-busy=false]")).waitFor();
  expect(await table.isVisible()).toBe(true);
  const latency = section(page, "Latency: p95");
  const zoomed = latency.getByText(/^[\d-]{10} .* to .* UTC$/);
  await latency.getByRole("button", { name: "Zoom in" }).press("Enter");
  await zoomed.waitFor();
  expect(await page.evaluate("document.activeElement.ariaLabel")).toMatch(/^Zoom in/);
  await latency.getByRole("button", { name: "Reset" }).press("Enter");
  await zoomed.waitFor({ state: "detached" });
  expect(await page.evaluate("document.activeElement.textContent")).toBe("Reset");
  expect(await table.isVisible()).toBe(true);
});

/** Chromium observes no sizes while it prints. */
const NO_SIZES_ON_PAPER = `
  globalThis.ResizeObserver = class extends globalThis.ResizeObserver {
    constructor(listener) {
      super((...seen) => matchMedia("print").matches || listener(...seen));
    }
  }`;

/** Returns the elements that something cuts off, or that leave the paper. */
const CUT_OFF = `[...document.querySelectorAll(".plot canvas, .scroll-x > table")].filter((one) => {
  const { right, bottom } = one.getBoundingClientRect();
  const around = one.closest(".plot, .scroll-x").getBoundingClientRect();
  return right > around.right + 1 || bottom > around.bottom + 1;
}).map((one) => one.outerHTML.slice(0, 100))`;

/** Returns how many colours fill a fiftieth of the chart or more. */
const coloursOf = (page: Page, chart: string): Promise<number> =>
  section(page, chart)
    .locator("canvas")
    .evaluate((canvas: { getContext: (kind: "2d") => Context; width: number; height: number }) => {
      const { width, height } = canvas;
      const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
      const counts = new Map<string, number>();
      for (let at = 0; at < data.length; at += 4) {
        const colour = data.slice(at, at + 3).join();
        counts.set(colour, (counts.get(colour) ?? 0) + 1);
      }
      return [...counts.values()].filter((count) => count > (width * height) / 50).length;
    });

interface Context {
  getImageData: (...place: [number, number, number, number]) => { data: Uint8ClampedArray };
}

it("tells phases apart where the reader's colours are forced", TIMEOUT, async () => {
  const path = `/calls/${await callNamed("Simulated: product search")}?range=week`;
  const { page } = await pages.open(path, { ...WIDE, forcedColors: "active" });
  await section(page, "Phases").locator("canvas").waitFor();
  await expect.poll(() => coloursOf(page, "Phases")).toBeGreaterThan(2);
});

it("is printed whole", async () => {
  const { page } = await pages.open("/not-a-page", WIDE);
  await page.addInitScript(NO_SIZES_ON_PAPER);
  await page.goto(`${pages.api}/calls/${await callNamed("Simulated: shopping cart")}`);
  await section(page, "Latency: p50").locator("canvas").waitFor();
  await section(page, "Distribution").locator("canvas").waitFor();
  await section(page, "Runs").locator("tbody tr").first().waitFor();
  await page.emulateMedia({ media: "print" });
  await page.setViewportSize(PAPER);
  expect(await page.evaluate(CUT_OFF)).toEqual([]);
});

it("can be read by everyone: light, dark, narrow, printed, without calls", TIMEOUT, async () => {
  const id = await callNamed("Simulated: shopping cart");
  const watched = await pages.open(`/calls/${id}?range=year`, WIDE);
  const { page } = watched;
  await section(page, "Latency: p50").locator("canvas").waitFor();
  await page.getByText("98 % or more passed").waitFor();
  await section(page, "Runs").locator("tbody tr").first().waitFor();
  await expectAccessible(page);
  await page.emulateMedia({ colorScheme: "dark" });
  await expectAccessible(page);
  await keepPicture(page, "call-dark");
  await page.emulateMedia({ colorScheme: "light", media: "print" });
  await keepPicture(page, "call-print");
  await expectClean(watched);

  const made = await pages.client.send<Named>("POST", "/calls/", {
    meta: { name: "<b>New</b> & never run" },
    request: { method: "GET", url: "http://127.0.0.1:9/" },
  });
  const narrow = await pages.open(`/calls/${made.id}`, NARROW);
  await narrow.page.getByText("Run it now, or deploy it").waitFor();
  await narrow.page.getByText("No runs yet.").waitFor();
  await expectAccessible(narrow.page);
  const overflow = "document.documentElement.scrollWidth - innerWidth";
  expect(await narrow.page.evaluate(overflow)).toBe(0);
  await keepPicture(narrow.page, "call-new-narrow");
  await narrow.page.goto(`${pages.api}/calls/${id}`);
  await section(narrow.page, "Runs").locator("tbody tr").first().waitFor();
  await section(narrow.page, "Latency: p50").locator("canvas").waitFor();
  expect(await shiftOf(narrow.page)).toBeLessThan(0.05);
  await expectClean(narrow);

  const gone = await pages.open(`/calls/${made.id}0`, WIDE);
  await gone.page.getByRole("alert").waitFor();
});
