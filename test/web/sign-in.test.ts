// Signing in to the pages and out again, in a real browser.
import { expect, it } from "vitest";
import { openPage, startBrowser } from "../support/browser.ts";
import { startSonde } from "../support/process.ts";

const KEY = "0123456789abcdefghijABCDEFGHIJ01";

it(
  "a key signs in, a page that was asked for opens, and signing out ends the session",
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
    await page.getByText("No active API key is like this one").waitFor();
    await page.getByLabel("API key").fill(KEY);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Calls" }).waitFor();

    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ name: "sonde", httpOnly: true, sameSite: "Strict", path: "/" });
    const kept = await page.evaluate("JSON.stringify([{ ...localStorage }, document.cookie])");
    expect(kept).not.toContain(KEY);

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("API key").waitFor();
    const again = await fetch(`${api}/api/2/session/`, {
      headers: { cookie: `${cookie?.name}=${cookie?.value}` },
    });
    expect(again.status).toBe(401);
    expect(faults).toEqual([]);
    expect(requested.filter((url) => !url.startsWith(api))).toEqual([]);
  },
);
