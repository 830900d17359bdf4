import { chromium } from "playwright-core";
import { expect, it } from "vitest";
import { startSonde } from "../support/process.ts";
import { findProgram } from "../support/programs.ts";

const KEY = "0123456789abcdefghijABCDEFGHIJ01";

function chromiumPath(): string {
  const path = findProgram("chromium");
  if (path) return path;
  throw new Error(
    "Chromium is not installed: apt-get install chromium, or put `chromium` on the PATH",
  );
}

it(
  "the documentation page lists the interface, and calls it with a key",
  { timeout: 120_000 },
  async () => {
    await using sonde = startSonde(["serve"], {
      env: { SONDE_BOOTSTRAP_KEY: KEY },
    });
    await sonde.ready();
    const browser = await chromium.launch({
      executablePath: chromiumPath(),
      timeout: 60_000, // it may never have been read from disk
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    });
    try {
      const page = await browser.newPage();
      page.setDefaultTimeout(25_000);
      const faults: string[] = [];
      page.on("pageerror", ({ message }) => faults.push(message));
      page.on("requestfailed", (request) => faults.push(request.url()));
      await page.goto(`${await sonde.api()}/docs`);
      await page.getByRole("heading", { name: "Sonde" }).waitFor();
      for (const part of [
        "API Calls",
        "Workflows",
        "Deployments",
        "Tokens",
        "Reports",
        "Statistics",
      ])
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
    } finally {
      await browser.close();
    }
  },
);
