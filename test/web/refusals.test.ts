// What the pages show when Sonde refuses a run or a change for now, in a real browser.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startPages } from "../support/pages.ts";

let pages: Awaited<ReturnType<typeof startPages>>;

beforeAll(async () => {
  pages = await startPages({ env: { SONDE_MAX_MANUAL_RUNS: "2" } });
}, 60_000);

afterAll(() => pages?.[Symbol.asyncDispose]());

const make = async (path: string, body: object): Promise<string> =>
  (await pages.client.send<{ id: string }>("POST", path, body)).id;

const makeCall = (name: string): Promise<string> =>
  make("/calls/", { meta: { name }, request: { method: "GET", url: "https://example.com/" } });

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

it("keep the values of a run that is one too many, and say when to try again", async () => {
  const call = await makeCall("Delayed");
  const workflow = await make("/workflows/", {
    meta: { name: "Shop" },
    workflow: { call_ids: [call] },
  });
  const order = { run_delay: 900 };
  for (let n = 0; n < 2; n += 1) await pages.client.send("POST", `/calls/${call}/run`, order);
  const { page } = await pages.open(`/workflows/${workflow}`);
  const panel = page.getByRole("region", { name: "Run now" });
  await panel.getByText("Context values", { exact: true }).click();
  await button(page, "Add a value").click();
  await panel.getByLabel("Name of value 1").fill("SHOP");
  await panel.getByLabel("Value of value 1").fill("books");
  await button(page, "Run now").first().click();
  await panel.getByText("You have 2 unfinished manual runs").waitFor();
  await panel.getByText("try again when one has ended").waitFor();
  expect(await panel.getByLabel("Value of value 1").inputValue()).toBe("books");
});
