// Signing in to the pages and out of them, in a real browser.
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { openPage, startBrowser } from "../support/browser.ts";
import { startPages } from "../support/pages.ts";
import { runSonde, startSonde } from "../support/process.ts";

const KEY = "0123456789abcdefghijABCDEFGHIJ01";

it(
  "a key signs in to the requested page, and signing out ends the session",
  { timeout: 120_000 },
  async () => {
    await using sonde = startSonde(["serve"], { env: { SONDE_BOOTSTRAP_KEY: KEY } });
    await sonde.ready();
    const api = await sonde.api();
    await using browser = await startBrowser();
    const { page, faults, requested } = await openPage(browser);

    await page.goto(`${api}/calls`);
    await page.getByLabel("API key").fill("0".repeat(32));
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("No active API key matches").waitFor();
    await page.getByLabel("API key").fill(KEY);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Calls", level: 1, exact: true }).waitFor();
    await page.locator("#main:focus").waitFor();

    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ name: "sonde", httpOnly: true, sameSite: "Strict", path: "/" });
    const kept = await page.evaluate("JSON.stringify([{ ...localStorage }, document.cookie])");
    expect(kept).not.toContain(KEY);

    await expect.poll(() => page.title()).toBe("Calls · Sonde");
    await page.goto(`${api}/no-such-page`);
    await expect.poll(() => page.title()).toBe("Page not found · Sonde");

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("API key").waitFor();
    await expect.poll(() => page.title()).toBe("Sign in · Sonde");
    const again = await fetch(`${api}/api/2/session/`, {
      headers: { cookie: `${cookie?.name}=${cookie?.value}` },
    });
    expect(again.status).toBe(401);
    expect(faults).toEqual([]);
    expect(requested.filter((url) => !url.startsWith(api))).toEqual([]);
  },
);

it(
  "the next user sees nothing of the previous one, and no link signs in with a key",
  { timeout: 120_000 },
  async () => {
    await using sonde = startSonde(["serve"], { env: { SONDE_BOOTSTRAP_KEY: KEY } });
    await sonde.ready();
    const api = await sonde.api();
    const made = await fetch(`${api}/api/2/auth/`, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      body: JSON.stringify({
        meta: { name: "Secret shop", domain: "shop.test" },
        settings: { auth_type: "OAUTH2" },
      }),
    });
    expect(made.status).toBe(201);
    const env = { SONDE_DATA_DIR: sonde.dataDir };
    const { stdout } = await runSonde(["keys", "create", "--owner", "bob"], { env });
    const { api_key } = JSON.parse(stdout) as { readonly api_key: string };
    await using browser = await startBrowser();
    const { page, faults } = await openPage(browser);
    const signIn = async (key: string) => {
      await page.getByLabel("API key").fill(key);
      await page.getByRole("button", { name: "Sign in" }).click();
    };

    await page.goto(`${api}/settings#${KEY}`);
    await page.getByText("This link has been used, has expired, or is incomplete").waitFor();
    expect(page.url()).toBe(`${api}/settings`);
    await signIn(KEY);
    await page.getByText("Secret shop").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await signIn(api_key);
    await page.getByText("No authentication settings yet").waitFor();
    expect(faults).toEqual([]);
  },
);

it("a link works while someone is signed in", { timeout: 120_000 }, async () => {
  await using pages = await startPages();
  const { page, faults } = await pages.open("/calls");
  const env = { SONDE_DATA_DIR: pages.sonde.dataDir, SONDE_PUBLIC_URL: pages.api };
  const { stdout } = await runSonde(["keys", "link"], { env });
  const link = stdout.trim();
  expect(link).toContain("/sign-in#");
  for (const said of ["", "This link has been used, has expired, or is incomplete."]) {
    await page.goto("about:blank");
    await page.goto(link);
    await page.getByRole("heading", { name: "Calls", level: 1, exact: true }).waitFor();
    await page.getByRole("status").filter({ hasText: said }).first().waitFor({ state: "attached" });
    expect(page.url()).toBe(`${pages.api}/`);
  }
  expect(faults).toEqual([]);
});

/** What the browser does when the reader leaves the tab, or returns to it. */
const setHidden = (page: Page, isHidden: boolean): Promise<unknown> =>
  page.evaluate(`{
    Object.defineProperty(document, "hidden", { value: ${isHidden}, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }`);

it("a session is neither taken for ended nor for open", { timeout: 120_000 }, async () => {
  await using pages = await startPages();
  const title = (name: string) => page.getByRole("heading", { name, level: 1 }).waitFor();
  const { page, faults } = await pages.open("/tokens");
  await title("Tokens");
  const unavailable = { status: 503, json: { error_msg: "The store is not available" } };
  await page.route("**/api/2/session/", (route) => route.fulfill(unavailable));
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You are still signed in. The store is not available").waitFor();
  await page.reload();
  await page.getByText("The store is not available").waitFor();
  expect(await page.getByLabel("API key").count()).toBe(0);
  await page.unrouteAll();
  await page.getByRole("button", { name: "Try again" }).click();
  await title("Tokens");

  // In view, or while it reads its lists, the page would notice the end by itself.
  await page.getByText("Create a setting first").waitFor();
  await setHidden(page, true);
  await page.getByText("Paused", { exact: true }).waitFor();
  const [cookie] = await page.context().cookies();
  const headers = { cookie: `${cookie?.name}=${cookie?.value}`, origin: pages.api };
  const ended = await fetch(`${pages.api}/api/2/session/`, { method: "DELETE", headers });
  expect(ended.status).toBe(200);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("API key").waitFor();
  expect(faults).toEqual([]);
});

it("a page notices that its key has been revoked", { timeout: 120_000 }, async () => {
  await using pages = await startPages();
  const { api_key: key, id } = await pages.client.send<{ api_key: string; id: string }>(
    "POST",
    "/api_keys/",
    { access_level: "VIEWER" },
  );
  const { page, faults } = await pages.open("/tokens", { key });
  const dotOf = async (word: string): Promise<string> => {
    await page.getByText(word, { exact: true }).waitFor();
    return page.evaluate(
      `getComputedStyle(document.querySelector("footer [role=status]"), "::before").background`,
    );
  };
  const live = await dotOf("Live");
  await setHidden(page, true);
  expect(await dotOf("Paused")).not.toBe(live);
  await pages.client.send("DELETE", `/api_keys/${id}/`);
  await setHidden(page, false);
  await page.getByLabel("API key").waitFor();
  expect(faults).toEqual([]);
});

it("a page says that it is not live, in a narrow window, too", { timeout: 120_000 }, async () => {
  await using pages = await startPages();
  const { page } = await pages.open("/tokens");
  const word = page.getByText("Reconnecting …", { exact: true }).filter({ visible: true });
  await page.getByText("Live", { exact: true }).waitFor();
  expect(await word.count()).toBe(0);
  await page.route("**/api/2/events/*", (route) => route.abort());
  await page.reload();
  await word.waitFor();
  await page.setViewportSize({ width: 360, height: 740 });
  await word.waitFor();
});
