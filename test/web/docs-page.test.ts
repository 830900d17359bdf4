import { expect, it } from "vitest";
import { openPage, startBrowser } from "../support/browser.ts";
import { startSonde } from "../support/process.ts";

const KEY = "0123456789abcdefghijABCDEFGHIJ01";

it(
  "the documentation page lists the interface, and calls it with a key",
  { timeout: 120_000 },
  async () => {
    await using sonde = startSonde(["serve"], {
      env: { SONDE_BOOTSTRAP_KEY: KEY },
    });
    await sonde.ready();
    await using browser = await startBrowser();
    const { page, faults } = await openPage(browser);
    await page.goto(`${await sonde.api()}/docs`);
    await page.getByRole("heading", { name: "Sonde" }).waitFor();
    for (const part of ["API Calls", "Workflows", "Deployments", "Tokens", "Reports", "Statistics"])
      await page.locator(`.opblock-tag[data-tag="${part}"]`).waitFor();

    await page.getByRole("button", { name: "Authorize" }).first().click();
    const dialog = page.locator(".modal-ux");
    await dialog.getByLabel("auth-bearer-value").fill(KEY);
    await dialog.getByRole("button", { name: "Apply credentials" }).first().click();
    await dialog.getByRole("button", { name: "Close" }).first().click();
    const list = page.locator(".opblock", {
      hasText: "List the API Calls that you may read",
    });
    await list.locator(".opblock-summary-control").first().click();
    await list.getByRole("button", { name: "Try it out" }).click();
    await list.getByRole("button", { name: "Execute" }).click();
    const answer = list.locator(".live-responses-table tbody .response-col_description").first();
    await expect.poll(() => answer.textContent()).toContain('"more": false');
    expect(faults).toEqual([]);
  },
);
