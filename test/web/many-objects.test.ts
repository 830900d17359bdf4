// The pages of an owner with more objects than the longest page of the interface has.
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { openFolder } from "../support/data-folder.ts";
import { storeInsight, WEEK_MS } from "../support/insights.ts";
import { makeFolder, runSonde } from "../support/process.ts";
import { startPages } from "../support/pages.ts";
import { aCall } from "../support/runs.ts";
import { periodStart } from "../../src/model/periods.ts";

/** One more than the longest page of the interface. */
const MANY = 1001;

it("pages know every setting, token and deployment", { timeout: 120_000 }, async () => {
  await using pages = await startPages();
  const { client, api } = pages;
  const makeMany = async (path: string, body: (n: number) => object): Promise<string> => {
    let last = "";
    for (let n = 1; n <= MANY; n += 1)
      last = (await client.send<{ id: string }>("POST", path, body(n))).id;
    return last;
  };
  const auth_id = await makeMany("/auth/", (n) => ({
    meta: { name: `Setting ${n}`, domain: "shop.example" },
    settings: { auth_type: "BASIC" },
  }));
  const token_id = await makeMany("/tokens/", (n) => ({ meta: { name: `Token ${n}`, auth_id } }));
  const call = await client.send<{ id: string }>("POST", "/calls/", {
    meta: { name: "Shop" },
    request: { method: "GET", url: "https://shop.example/", auth_id, token_id },
  });
  // All are due at second 0, but the last one.
  await makeMany("/deployments/", (n) => ({
    deployment: {
      target_id: call.id,
      location_id: "local",
      frequency: 1440,
      run_delay: n < MANY ? 0 : 30,
    },
  }));
  const workflow = await client.send("POST", "/workflows/", {
    meta: { name: "Shopping" },
    workflow: { call_ids: [call.id] },
  });
  await client.send("POST", "/deployments/", {
    deployment: { target_id: workflow["id"], location_id: "local", frequency: 720 },
  });

  const { page, faults } = await pages.open(`/calls/${call.id}/edit`);
  const chosen = (label: string) => page.getByLabel(label, { exact: true }).locator(":checked");
  await expect
    .poll(() => chosen("Authentication setting").textContent())
    .toBe(`Setting ${MANY} (BASIC, shop.example)`);
  await expect.poll(() => chosen("Token").textContent()).toBe(`Token ${MANY}`);

  await page.goto(`${api}/tokens?setting=${auth_id}`);
  await page.getByRole("heading", { name: `Tokens of Setting ${MANY}`, level: 1 }).waitFor();

  await page.goto(`${api}/workflows`);
  await page.getByRole("cell", { name: "every 12 hours", exact: true }).waitFor();

  const other = await client.createCall("https://other.example/");
  await page.goto(`${api}/calls/${other}`);
  await page.getByRole("button", { name: "Deploy", exact: true }).first().click();
  const delay = page.getByRole("dialog").getByLabel("Delay, in seconds");
  await page.getByRole("dialog").getByLabel("Runs").selectOption("every minute");
  await expect.poll(() => delay.inputValue()).toBe("15");
  expect(faults).toEqual([]);
});

it("a report's rows have the locations' names only once they are used", async () => {
  await using pages = await startPages();
  const { client } = pages;
  const env = { SONDE_DATA_DIR: pages.sonde.dataDir };
  expect((await runSonde(["locations", "add", "other"], { env })).code).toBe(0);
  const call_id = await client.createCall("https://shop.example/");
  const rows = Array.from({ length: 500 }, () => ({ call_id, location_id: "local" }));
  const body = { meta: { name: "Large" }, groups: [{ name: "All", rows }] };
  const { id } = await client.send<{ id: string }>("POST", "/reports/", body);

  const { page, faults } = await pages.open(`/reports/${id}/edit`);
  const location = (row: number) => page.getByLabel(`Location of row ${row}`, { exact: true });
  await expect.poll(() => location(500).locator("option").allTextContents()).toEqual(["local"]);
  const names = ["Default (local)", "local", "other"];
  await location(2).focus();
  await expect.poll(() => location(2).locator("option").allTextContents()).toEqual(names);
  await page.keyboard.press("ArrowDown");
  await location(3).hover();
  await page.mouse.down();
  await expect.poll(() => location(3).locator("option").allTextContents()).toEqual(names);
  await page.mouse.up();
  await page.keyboard.press("Escape");
  expect(await location(500).locator("option").count()).toBe(1);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "Large", level: 1, exact: true }).waitFor();
  const { groups } = await client.send<typeof body>("GET", `/reports/${id}/`);
  const chosen = groups[0]?.rows.map(({ location_id }) => location_id);
  expect(chosen?.slice(0, 4)).toEqual(["local", "other", "local", "local"]);
  expect(faults).toEqual([]);
});

/** A table that does not know its height yet shows its first few rows only. */
const IS_FILLED = `(() => {
  const table = document.querySelector("[role=table]");
  const bottomOf = (one) => one?.getBoundingClientRect().bottom;
  return bottomOf([...(table?.querySelectorAll("[data-row]") ?? [])].at(-1)) > bottomOf(table);
})()`;

/** Returns the addresses that a print of the page links to. */
async function printedLinks(page: Page): Promise<string[]> {
  const print = (await page.pdf()).toString("latin1");
  return [...print.matchAll(/URI \((.*?)\)/g)].map(([, url = ""]) => url);
}

it("the list of calls prints those out of view, too", { timeout: 120_000 }, async () => {
  await using pages = await startPages();
  const { client, api } = pages;
  const calls: string[] = [];
  for (let n = 0; n < 60; n += 1)
    calls.push(`${api}/calls/${await client.createCall("https://shop.example/")}`);
  const { page, faults } = await pages.open("/calls");
  const rows = page.getByRole("table", { name: "Calls" }).locator("[data-row]");
  await expect.poll(() => page.evaluate(IS_FILLED)).toBe(true);
  const inView = await rows.count();
  expect(inView).toBeGreaterThan(0);
  expect(inView).toBeLessThan(calls.length);
  const links = await printedLinks(page);
  expect(links).toHaveLength(calls.length);
  expect(new Set(links)).toEqual(new Set(calls));
  await expect.poll(() => rows.count()).toBe(inView);

  // A browser would hang if they were ten thousand.
  for (let n = calls.length; n < MANY; n += 1) await client.createCall("https://shop.example/");
  await page.reload();
  await page.getByText("1,001 calls", { exact: true }).waitFor();
  await page.evaluate('dispatchEvent(new Event("beforeprint"))');
  await page.getByText("Only the first 1,000 rows are printed.", { exact: true }).waitFor();
  expect(await rows.count()).toBe(MANY - 1);
  expect(faults).toEqual([]);
});

it("a report and the ranking print the rows that they do not show", async () => {
  const count = 130;
  using folder = makeFolder();
  const masterKey = randomBytes(32);
  mkdirSync(folder.dataDir, { recursive: true });
  writeFileSync(join(folder.dataDir, "master-key"), masterKey.toString("base64"));
  const store = await openFolder(folder, masterKey);
  const start = periodStart("WEEK", await store.now()) - WEEK_MS;
  const of = { owner: "owner", org: null };
  const calls = Array.from({ length: count }, () => aCall({ owner: of.owner }));
  const scores = new Set<string>();
  for (const call of calls) {
    await store.documents.insert(call);
    scores.add(await storeInsight(store, { call_id: call.id, of, start }));
  }
  await store.close();
  await using pages = await startPages({ env: { SONDE_DATA_DIR: folder.dataDir } });
  const rows = calls.map(({ id }) => ({ call_id: id, location_id: "local" }));
  const body = { meta: { name: "Long" }, groups: [{ name: "All", rows }] };
  const { id } = await pages.client.send<{ id: string }>("POST", "/reports/", body);

  const { page, faults } = await pages.open(`/reports/${id}`);
  const shown = page.locator("tbody tr");
  const printed = async (place: string): Promise<Set<string>> => {
    await expect.poll(() => shown.count()).toBe(100);
    const found = await printedLinks(page);
    await expect.poll(() => shown.count()).toBe(100);
    const start = `${pages.api}/${place}/`;
    return new Set(found.flatMap((url) => (url.startsWith(start) ? url.slice(start.length) : [])));
  };
  expect(await printed("calls")).toEqual(new Set(calls.map((call) => call.id)));
  await page.goto(`${pages.api}/insights`);
  expect(await printed("insights")).toEqual(scores);
  expect(faults).toEqual([]);
});
