// A call is made from a cURL command, run, changed, deployed and deleted, in a real browser.
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { keepPicture } from "../support/browser.ts";
import type { Client } from "../support/client.ts";
import { MARKER, MARKUP } from "../support/hostile-text.ts";
import { expectAccessible, startPages } from "../support/pages.ts";
import { runSonde } from "../support/process.ts";
import { startTarget } from "../support/target-server.ts";

type Try = Awaited<ReturnType<typeof startTry>>;

async function startTry() {
  await using stack = new AsyncDisposableStack();
  const target = stack.use(await startTarget());
  const pages = stack.use(
    await startPages({
      env: { SONDE_EGRESS_ALLOW: target.authority },
    }),
  );
  const ours = stack.move();
  return { target, pages, [Symbol.asyncDispose]: () => ours.disposeAsync() };
}

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const said = (page: Page, text: string) => page.getByRole("status").getByText(text).waitFor();

/** Presses the tab key until the element of this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let at = 0; at < 80; at += 1) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(
      "(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim()",
    );
    if (focused === name) return;
  }
  throw new Error(`the tab key does not reach ${name}`);
}

/** Turns a cURL command into a call, and runs it, with the keyboard alone. */
async function makesWithKeyboard({ target, pages }: Try): Promise<void> {
  const { page, faults, requested } = await pages.open("/calls/new");
  await page.getByRole("heading", { name: "New call" }).waitFor();
  await expectAccessible(page);
  await keepPicture(page, "try-new");

  await tabTo(page, "cURL command");
  await page.keyboard.insertText(
    `curl '${target.url}/orders?page=1' -H 'X-Markup: ${MARKUP.replaceAll("'", "'\\''")}' --json '{"book": "{{title}}"}' -m 5 --ntlm`,
  );
  await tabTo(page, "Fill in the form");
  await page.keyboard.press("Enter");
  await page.getByText("Ignored, because Sonde has no equivalent: --ntlm.").waitFor();
  const valueOf = (label: string) => page.getByLabel(label, { exact: true }).inputValue();
  expect(await valueOf("URL")).toBe(`${target.url}/orders?page=1`);
  expect(await valueOf("Method")).toBe("POST");
  expect(await valueOf("Value of header 1")).toBe(MARKUP);
  expect(await valueOf("Body")).toBe('{"book": "{{title}}"}');
  expect(await valueOf("Name")).toBe(`POST ${target.authority}/orders`);
  await keepPicture(page, "try-curl");

  await tabTo(page, "Add a header");
  await page.keyboard.press("Enter");
  await said(page, "Added header 4");
  await page.keyboard.type("X-Empty");
  await tabTo(page, "Save and run");
  await page.keyboard.press("Enter");

  await page.getByText("COMPLETE", { exact: true }).waitFor();
  await page.getByRole("figure", { name: "Phases of the call" }).waitFor();
  expect(new URL(page.url()).pathname).toMatch(/^\/calls\/\w+\/edit$/);
  const received = target.requests.at(-1);
  expect(received).toMatchObject({ method: "POST", url: "/orders?page=1" });
  expect(received?.headers["x-markup"]).toBe(MARKUP);
  await expectAccessible(page);
  await keepPicture(page, "try-run");
  await page.getByRole("link", { name: "Charts and results of this call" }).click();
  await page.getByRole("heading", { name: `POST ${target.authority}/orders`, level: 1 }).waitFor();
  expect(await page.evaluate(`globalThis.${MARKER}`)).toBeUndefined();
  expect(faults).toEqual([]);
  expect(requested.filter((url) => !url.startsWith(pages.api))).toEqual([]);
}

/** Changes, deploys and deletes a call; what is refused is shown at its field. */
async function changesAndDeploys({ target, pages }: Try): Promise<void> {
  const { client } = pages;
  const id = await client.createCall(target.url);
  const { page, faults } = await pages.open(`/calls/${id}/edit`);
  const field = (label: string) => page.getByLabel(label, { exact: true });
  await page.getByRole("link", { name: "Workflows", exact: true }).click();
  await page.getByRole("heading", { name: "Workflows", level: 1, exact: true }).waitFor();
  await page.goBack();

  // Of two faults, the first is shown at its field, which has the focus, in the interface's words.
  await field("URL").fill("ftp://shop.example/");
  await button(page, "Add a header").click();
  await field("Name of header 1").fill("Connection");
  await button(page, "Save").click();
  const fault = "'ftp://shop.example/' is not a valid http or https URL (and 1 other fault)";
  await page.locator(".field .fault").getByText(fault, { exact: true }).waitFor();
  expect(await page.locator(".notice.fail").count()).toBe(0);
  await expect
    .poll(() => page.evaluate("document.activeElement.value"))
    .toBe("ftp://shop.example/");
  await expectAccessible(page);
  await keepPicture(page, "try-fault");
  await field("URL").fill(`${target.url}/`);
  await button(page, "Save").click();
  await page
    .locator(".pair-rows .fault")
    .getByText(/^Name: 'Connection'/)
    .waitFor();

  // A run has nothing of what is not saved.
  await page.getByText("Unsaved: runs use the last saved version.").waitFor();

  // Leaving the page asks first, by a link and through the history.
  await page.getByRole("link", { name: "Workflows", exact: true }).click();
  await page.getByRole("heading", { name: "Leave without saving?" }).waitFor();
  await button(page, "Stay").click();
  await page.goForward();
  await page.getByRole("heading", { name: "Leave without saving?" }).waitFor();
  await button(page, "Stay").click();
  expect(await field("Name of header 1").inputValue()).toBe("Connection");

  // Somebody else saves the call meanwhile: what was not touched here stays theirs.
  await client.send("PUT", `/calls/${id}/`, { meta: { name: MARKUP } });
  await field("URL").fill(`${target.url}/changed`);
  await button(page, "Remove header 1").click();
  await button(page, "Save and run").click();
  await page.getByRole("heading", { name: "The call has been changed" }).waitFor();
  await keepPicture(page, "try-conflict");
  await button(page, "Save my changes").click();
  await page.getByText("COMPLETE", { exact: true }).waitFor();
  await page.getByRole("heading", { name: `Edit ${MARKUP}` }).waitFor();
  expect(target.requests.at(-1)?.url).toBe("/changed");

  await deploys(page, client);
  await button(page, `Delete the call "${MARKUP}"`).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("heading", { name: "Calls", level: 1, exact: true }).waitFor();
  await expect(client.send("GET", `/calls/${id}/`)).rejects.toThrow("404");
  expect(await page.evaluate(`globalThis.${MARKER}`)).toBeUndefined();
  expect(faults).toEqual([]);
}

/** Deploys every minute, then every six hours, and deletes the deployment. */
async function deploys(page: Page, client: Client): Promise<void> {
  const dialog = page.getByRole("dialog");
  await button(page, "Deploy").first().click();
  await dialog.getByLabel("Runs").selectOption("every minute");
  const proposed = dialog.getByText("None of your deployments there is due at second 0.");
  await proposed.waitFor();
  await dialog.getByLabel(/^local/).uncheck();
  await proposed.waitFor({ state: "detached" });
  await dialog.getByLabel(/^local/).check();
  await proposed.waitFor();
  const runs = await Promise.all(
    (await dialog.locator("ol time").all()).map((time) => time.getAttribute("datetime")),
  );
  const [first = 0, ...later] = runs.map((time) => Date.parse(time ?? ""));
  expect(later.map((ms) => ms - first)).toEqual([1, 2, 3, 4].map((minutes) => minutes * 60_000));
  await dialog.getByLabel("Delay, in seconds").fill("soon");
  await page.keyboard.press("Escape");
  await page.getByRole("heading", { name: "Leave without saving?" }).waitFor();
  await button(page, "Stay").click();
  await button(page, "Deploy").last().click();
  await dialog.getByText(/^'soon' is not of type integer/).waitFor();
  await expectAccessible(page);
  await keepPicture(page, "try-deploy");
  await dialog.getByRole("button", { name: "Use 0 s" }).click();
  await button(page, "Deploy").last().click();
  const row = page.getByRole("row", { name: "local" });
  await row.getByText("every minute", { exact: true }).waitFor();

  // Somebody else changes it meanwhile: the change here is saved on top, and theirs stays.
  await row.getByRole("button", { name: "Edit" }).click();
  await dialog.getByLabel("Runs").selectOption("every 6 hours");
  const { results } = await client.send<{ results: { id: string }[] }>("GET", "/deployments/");
  const path = `/deployments/${results[0]?.id}/`;
  await client.send("PUT", path, { deployment: { run_delay: 20 } });
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "The deployment has been changed" }).waitFor();
  await expectAccessible(page);
  await button(page, "Save my changes").click();
  await row.getByText("every 6 hours", { exact: true }).waitFor();
  expect(await client.send("GET", path)).toMatchObject({
    deployment: { frequency: 360, run_delay: 20 },
  });
  await keepPicture(page, "try-deployed");
  await row.getByRole("button", { name: "Delete" }).click();
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("Not scheduled yet.").waitFor();
}

/**
 * Expects a location without an agent to be pointed out before a run and a deployment, and after.
 */
async function saysWhereNoAgentIs({ target, pages }: Try): Promise<void> {
  const { client, sonde } = pages;
  const env = { SONDE_DATA_DIR: sonde.dataDir };
  const added = await runSonde(["locations", "add", "empty", "--label", "Empty place"], { env });
  expect(added.code).toBe(0);
  const id = await client.createCall(target.url);
  await client.deploy(id, { frequency: 60 });
  const { page, faults } = await pages.open(`/calls/${id}`);
  const dialog = page.getByRole("dialog");
  const unavailable = { status: 503, json: { error_msg: "The locations are not available" } };
  await page.route("**/api/2/agents/info*", (route) => route.fulfill(unavailable));
  await page.reload();
  const panel = page.getByRole("region", { name: "Run now" });
  await panel.getByText("The locations are not available").waitFor();
  await button(page, "Deploy").first().click();
  await dialog.getByText("The locations are not available").waitFor();
  const asked = page.waitForRequest("**/api/2/agents/info*");
  await dialog.getByRole("button", { name: "Try again" }).click();
  await asked;
  expect(await dialog.getByText("The locations are not available").count()).toBe(1);
  await page.unrouteAll();
  await dialog.getByRole("button", { name: "Try again" }).click();
  await dialog.getByText("already deployed: every hour").waitFor();
  expect(await dialog.getByRole("checkbox", { checked: true }).count()).toBe(0);
  await dialog.getByText("Choose at least one.").waitFor();
  await dialog.getByLabel("Empty place").check();
  await dialog.getByText("No agent", { exact: true }).waitFor();
  await dialog.getByLabel("Delay, in seconds").fill("75");
  await dialog.getByText("Each run is due in the next minute, at second 15.").waitFor();
  await expectAccessible(page);
  await keepPicture(page, "try-no-agent");
  await dialog.getByRole("button", { name: "Deploy" }).click();
  await said(page, "Deployed at Empty place. No agent accepts runs at Empty place");
  await page.getByRole("rowheader", { name: "Empty place No agent" }).waitFor();

  await panel.getByLabel("Location").selectOption("Empty place – no agent");
  await panel.getByText("No agent is connected at Empty place: runs wait").waitFor();
  await panel.getByRole("button", { name: "Run now" }).click();
  await panel.getByText("No agent is connected at Empty place: the run waits.").waitFor();
  await expectAccessible(page);
  await keepPicture(page, "try-waits");
  expect(faults).toEqual([]);
}

/** A simulated call has results, and no schedule. */
async function saysWhatIsGenerated({ target, pages: { client, ...pages } }: Try): Promise<void> {
  const id = await client.createCall(target.url);
  await client.send("PUT", `/calls/${id}/`, { meta: { tags: ["sonde-simulated"] } });
  const { page } = await pages.open(`/calls/${id}`);
  await page.getByText("It has no schedule: its results were generated").waitFor();
}

/** Expects a caller who may only read to be offered none of it. */
async function offersViewerNothing({ target, pages: { client, ...pages } }: Try): Promise<void> {
  const id = await client.createCall(target.url);
  const { api_key } = await client.send<{ api_key: string }>("POST", "/api_keys/", {
    access_level: "VIEWER",
  });
  const viewer = await pages.open(`/calls/${id}/edit`, { key: api_key });
  await viewer.page.getByRole("heading", { name: "Your key is read-only" }).waitFor();
  expect(await viewer.page.locator("main button, main form").count()).toBe(0);
  await viewer.page.goto(`${pages.api}/calls/new`);
  await viewer.page.getByRole("heading", { name: "Your key is read-only" }).waitFor();
  await viewer.page.goto(`${pages.api}/calls/${id}`);
  await viewer.page.getByText("Not scheduled yet.").waitFor();
  for (const name of ["Run now", "Deploy", "Duplicate"])
    expect(await button(viewer.page, name).count()).toBe(0);
}

/** Moves the password of a pasted command into a setting, on a narrow, dark screen. */
async function keepsPassword({ target, pages }: Try): Promise<void> {
  const { client } = pages;
  const { page, faults } = await pages.open("/calls/new", {
    viewport: { width: 360, height: 800 },
    colorScheme: "dark",
  });
  await page.getByLabel("URL", { exact: true }).focus();
  await paste(page, `curl -u 'ann:first-password' '${target.url}/private'`);
  await page.getByText("The command signs in as ann.").waitFor();
  await page.getByText("Tags with an effect on the call").click();
  // At the end of the page, nothing is partly behind the buttons that stick to the bottom.
  await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
  await expectAccessible(page);
  await keepPicture(page, "try-narrow");
  await button(page, "Save and run").click();
  await page.getByText("COMPLETE", { exact: true }).waitFor();
  const request = target.requests.findLast(({ url }) => url === "/private");
  expect(request?.headers.authorization).toBe(`Basic ${btoa("ann:first-password")}`);
  const calls = await client.send("GET", "/calls/");
  expect(JSON.stringify(calls)).not.toContain("first-password");
  await keepPicture(page, "try-narrow-run");
  expect(faults).toEqual([]);
}

/** Saves a new call whose first answer was lost again, but too late to count as a retry. */
async function makesSecondCallIfRetriedLate({ target, pages }: Try): Promise<void> {
  const name = "Made twice";
  const { page } = await pages.open("/calls/new");
  await page.clock.install();
  const field = (label: string) => page.getByLabel(label, { exact: true });
  await field("URL").fill(`${target.url}/again`);
  await field("Name").fill(name);
  let lost = false;
  await page.route("**/api/2/calls/", async (route) => {
    if (lost || route.request().method() !== "POST") return route.fallback();
    lost = true;
    await route.fetch();
    return route.abort();
  });
  await button(page, "Save").click();
  await page.getByText("Sonde is not responding.").waitFor();
  await page.clock.fastForward(11 * 60_000);
  await button(page, "Save").click();
  await page.getByRole("heading", { name, level: 1 }).waitFor();
  const { results } = await pages.client.send<{ results: { meta: { name: string } }[] }>(
    "GET",
    "/calls/?limit=1000",
  );
  expect(results.filter(({ meta }) => meta.name === name)).toHaveLength(2);
}

/** Deploys at two locations; the answer for the second one does not arrive. */
async function deploysItOnce({ target, pages: { client, ...pages } }: Try): Promise<void> {
  const id = await client.createCall(target.url);
  const other = await client.createCall(target.url);
  // At the second location alone, another delay would be proposed.
  await client.deploy(other, { frequency: 5, location_id: "empty", run_delay: 30 });
  const { page } = await pages.open(`/calls/${id}`);
  await button(page, "Deploy").first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Empty place").check();
  let posts = 0;
  await page.route("**/api/2/deployments/", async (route) => {
    if (route.request().method() === "POST") posts += 1;
    if (posts !== 2) return route.fallback();
    posts += 1;
    await route.fetch();
    return route.abort();
  });
  const deploy = dialog.getByRole("button", { name: "Deploy" });
  await deploy.click();
  await page.getByText("Sonde is not responding.").waitFor();
  await deploy.click();
  await dialog.waitFor({ state: "detached" });
  const { results } = await client.send<{
    results: { deployment: { location_id: string; run_delay: number } }[];
  }>("GET", `/deployments/call/${id}/`);
  expect(results).toHaveLength(2);
  expect(new Set(results.map(({ deployment }) => deployment.run_delay)).size).toBe(1);
}

/** Pastes into the field that has the focus. */
const paste = (page: Page, text: string): Promise<unknown> =>
  page.evaluate(`{
    const clipboardData = new DataTransfer();
    clipboardData.setData("text", ${JSON.stringify(text)});
    const event = new ClipboardEvent("paste", { clipboardData, cancelable: true, bubbles: true });
    document.activeElement.dispatchEvent(event);
  }`);

it("a call is created, run, changed, deployed and deleted", { timeout: 240_000 }, async () => {
  await using sonde = await startTry();
  await makesWithKeyboard(sonde);
  await changesAndDeploys(sonde);
  await keepsPassword(sonde);
  await saysWhereNoAgentIs(sonde);
  await saysWhatIsGenerated(sonde);
  await makesSecondCallIfRetriedLate(sonde);
  await deploysItOnce(sonde);
  await offersViewerNothing(sonde);
});
