// What the pages show when Sonde refuses a run or a change for now, in a real browser.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startPages } from "../support/pages.ts";
import { startTarget } from "../support/target-server.ts";

const TOO_MANY = "Too many requests with this API key; try again in 15 s";

let pages: Awaited<ReturnType<typeof startPages>>;

beforeAll(async () => {
  pages = await startPages({ env: { SONDE_MAX_MANUAL_RUNS: "2" } });
});

afterAll(() => pages?.[Symbol.asyncDispose]());

const make = async (path: string, body: object): Promise<string> =>
  (await pages.client.send<{ id: string }>("POST", path, body)).id;

const makeCall = (name: string): Promise<string> =>
  make("/calls/", { meta: { name }, request: { method: "GET", url: "https://example.com/" } });

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

/** Refuses requests to this path with this method, until the function that it returns is called. */
async function refuse(page: Page, method: string, path: string) {
  const url = `**/api/2${path}`;
  const body = JSON.stringify({ error_msg: TOO_MANY, error: 429 });
  await page.route(url, (route) =>
    route.request().method() === method
      ? route.fulfill({ status: 429, headers: { "retry-after": "15" }, body })
      : route.fallback(),
  );
  return () => page.unroute(url);
}

/** Expects the refusal where the reader sees it. */
async function seesRefusal(page: Page): Promise<void> {
  const notice = page.locator("form .notice.fail", { hasText: TOO_MANY });
  await notice.waitFor();
  const isUncovered = (): Promise<boolean> =>
    notice.evaluate((element) => {
      const { top, bottom, left } = element.getBoundingClientRect();
      const at = element.ownerDocument.elementFromPoint(left + 10, (top + bottom) / 2);
      return element.contains(at);
    });
  await expect.poll(isUncovered).toBe(true);
}

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

  await page.goto(`${pages.api}/calls/${call}`);
  await page.getByText(/^A run has not ended yet: it was ordered for 20/).waitFor();
});

it("show in view why a form is not saved, and keep what was typed", async () => {
  const call = await makeCall("Long form");
  const { page } = await pages.open(`/calls/${call}/edit`);
  await page.getByLabel("Description").fill("Typed");
  const allow = await refuse(page, "PUT", `/calls/${call}/`);
  await button(page, "Save").click();
  await seesRefusal(page);
  expect(await page.getByLabel("Description").inputValue()).toBe("Typed");
  await allow();
  await button(page, "Save").click();
  await page.getByRole("status").getByText("Saved").waitFor();
  expect(await pages.client.send("GET", `/calls/${call}/`)).toMatchObject({
    meta: { description: "Typed" },
  });
});

it("show why what others have saved cannot be opened, and keep what was typed", async () => {
  const call = await makeCall("Shared");
  const deployment = await pages.client.deploy(call, { frequency: 60, location_id: "local" });
  const path = `/deployments/${deployment}/`;
  const { page } = await pages.open(`/calls/${call}`);
  await page.getByRole("button", { name: /^Edit the deployment/ }).click();
  const delay = page.getByRole("dialog").getByLabel("Delay, in seconds");
  await delay.fill("7");
  await pages.client.send("PUT", path, { deployment: { run_delay: 9 } });
  const reload = async (): Promise<void> => {
    await button(page, "Save").click();
    await page.getByRole("heading", { name: "The deployment has been changed" }).waitFor();
    await button(page, "Open it as it is now").click();
  };
  const allow = await refuse(page, "GET", path);
  await reload();
  await seesRefusal(page);
  expect(await delay.inputValue()).toBe("7");
  await allow();
  await reload();
  await expect.poll(() => delay.inputValue()).toBe("9");
});

/** Waits for the page of the call; there is one of this name. */
async function isMadeOnce(page: Page, name: string): Promise<void> {
  await page.getByRole("heading", { name, level: 1 }).waitFor();
  const { results } = await pages.client.send<{ results: { meta: { name: string } }[] }>(
    "GET",
    "/calls/",
  );
  expect(results.filter(({ meta }) => meta.name === name)).toHaveLength(1);
}

it("make a call once whose answer was lost before a refusal", async () => {
  const { page } = await pages.open("/calls/new");
  await page.getByLabel("URL", { exact: true }).fill("https://example.com/");
  await page.getByLabel("Name", { exact: true }).fill("Once");
  await page.route(
    "**/api/2/calls/",
    async (route) => {
      await route.fetch();
      await route.abort();
    },
    { times: 1 },
  );
  await button(page, "Save").click();
  await page.getByText("Sonde is not responding.").waitFor();
  const allow = await refuse(page, "POST", "/calls/");
  await button(page, "Save").click();
  await seesRefusal(page);
  await allow();
  await button(page, "Save").click();
  await isMadeOnce(page, "Once");
});

it("ask again where no answer arrives, and make a call once", async () => {
  const { page } = await pages.open("/calls/new");
  await page.clock.install();
  await page.getByLabel("URL", { exact: true }).fill("https://example.com/");
  await page.getByLabel("Name", { exact: true }).fill("Hanging");
  const { promise: sent, resolve } = Promise.withResolvers<void>();
  await page.route(
    "**/api/2/calls/",
    async (route) => {
      await route.fetch();
      resolve();
    },
    { times: 1 },
  );
  await button(page, "Save").click();
  await sent;
  expect(await button(page, "Save").isDisabled()).toBe(true);
  await page.clock.fastForward(60_000);
  await page.getByText("Sonde is not responding.").waitFor();
  await button(page, "Save").click();
  await isMadeOnce(page, "Hanging");
});

it("promise no free second before the other deployments are known", async () => {
  const { dialog, release } = await deployUnaware("Crowded");
  await dialog.getByText("After the minute begins.").waitFor();
  expect(await dialog.getByText("None of your deployments").count()).toBe(0);
  release();
  await dialog.getByText(/None of your deployments there is due at second \d+/).waitFor();
});

it("keep the delay in a focused field when another is proposed", async () => {
  const other = { target_id: await makeCall("At second 0"), location_id: "local", frequency: 60 };
  await make("/deployments/", { deployment: other });
  const { page, dialog, release } = await deployUnaware("Typed");
  const delay = dialog.getByLabel("Delay, in seconds");
  await delay.focus();
  release();
  const proposed = dialog.getByRole("button", { name: /^Use \d+ s$/ });
  await proposed.waitFor();
  expect(await delay.inputValue()).toBe("0");
  await page.keyboard.press("End");
  await page.keyboard.type("7");
  expect(await delay.inputValue()).toBe("07");
  await proposed.click();
  expect(await delay.inputValue()).not.toMatch(/^0/);
});

it("show no next runs for a delay that is too long, and say so at the field", async () => {
  const { page, dialog, release } = await deployUnaware("Delayed for ever");
  release();
  const delay = dialog.getByLabel("Delay, in seconds");
  await delay.fill("9999999999999");
  await button(page, "Deploy").last().click();
  await dialog.getByText("9999999999999 is greater than the maximum of 86400").waitFor();
  expect(await dialog.getByText("Next runs").count()).toBe(0);
  await delay.fill("86400");
  await dialog.getByText("Next runs").waitFor();
  expect(await dialog.getByText(/greater than the maximum/).count()).toBe(0);
});

it("keep the spaces in the name of a variable", async () => {
  const { page } = await pages.open("/calls/new");
  const url = page.getByLabel("URL", { exact: true });
  await url.pressSequentially(" https://shop.example/{{my path}} ");
  await url.blur();
  await expect.poll(() => url.inputValue()).toBe("https://shop.example/{{my path}}");
});

/** Opens the dialog that deploys a new call; it reads the other deployments once released. */
async function deployUnaware(name: string) {
  const { page } = await pages.open(`/calls/${await makeCall(name)}`);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  await page.route("**/api/2/deployments/?*", async (route) => {
    await released;
    await route.continue();
  });
  await button(page, "Deploy").first().click();
  return { page, dialog: page.getByRole("dialog"), release };
}

it("leave open whether a workflow is deployed until that is known", async () => {
  await make("/workflows/", { meta: { name: "Undeployed" } });
  const { page } = await pages.open("/locations");
  const allow = await refuse(page, "GET", "/deployments/?*");
  await page.getByRole("link", { name: "Workflows", exact: true }).first().click();
  const deployed = page.getByRole("row", { name: "Undeployed" }).locator("td").last();
  await expect.poll(() => deployed.innerText()).toBe(TOO_MANY);
  await allow();
  await page.reload();
  await expect.poll(() => deployed.innerText()).toBe("–");
});

it("stop reading where no answer arrives, and read when asked", async () => {
  const { page } = await pages.open("/locations");
  await page.clock.install();
  let reads = 0;
  const { promise: read, resolve } = Promise.withResolvers<void>();
  const hang = (): void => {
    reads += 1;
    resolve();
  };
  const workflows = /api\/2\/workflows\//;
  await page.route(workflows, hang);
  await page.getByRole("link", { name: "Workflows", exact: true }).first().click();
  await read;
  await page.clock.fastForward(60_000);
  await page.getByText("Sonde is not responding.").waitFor();
  expect(reads).toBe(1);
  await page.unroute(workflows, hang);
  const answered = page.waitForResponse(workflows);
  await button(page, "Try again").click();
  expect((await answered).status()).toBe(200);
  await page.getByText("Sonde is not responding.").waitFor({ state: "detached" });
});

it("stop reading where the rest of an answer does not arrive", async () => {
  await using hanging = await startTarget((_, response) => void response.write('{"meta": {'));
  const { page } = await pages.open("/locations");
  await page.clock.install();
  await page.route(/api\/2\/workflows\//, (route) => route.continue({ url: hanging.url }));
  const begun = page.waitForResponse((response) => response.url() === hanging.url);
  await page.getByRole("link", { name: "Workflows", exact: true }).first().click();
  await begun;
  await page.clock.fastForward(60_000);
  await page.getByText("Sonde is not responding.").waitFor();
  expect(hanging.requests).toHaveLength(1);
});
