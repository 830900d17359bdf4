// Takes the pictures of the README: starts a demo, follows its link as a newcomer does, and writes
// docs/images. `npm run pictures` waits for some minutes of results of the demo's own calls first.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Page } from "playwright-core";
import { openPage, startBrowser } from "./browser.ts";

const IMAGES = "docs/images";
const MINUTE_MS = 60_000;

const { values } = parseArgs({ options: { minutes: { type: "string", default: "6" } } });

const folder = mkdtempSync(join(tmpdir(), "sonde-pictures-"));
const child = spawn(process.execPath, ["src/main.ts", "serve", "--demo"], {
  stdio: ["ignore", "pipe", "inherit"],
  env: {
    PATH: process.env["PATH"],
    SONDE_PORT: "0",
    SONDE_OPS_PORT: "0",
    SONDE_DATA_DIR: folder,
  },
});
const link = Promise.withResolvers<string>();
const history = Promise.withResolvers<void>();
createInterface({ input: child.stdout }).on("line", (line) => {
  const [, url] = /sign in, once +(\S+)/.exec(line) ?? [];
  if (url) link.resolve(url);
  if (line.includes("weeks of simulated results")) history.resolve();
});

try {
  const url = await link.promise;
  await history.promise;
  await delay(Number(values.minutes) * MINUTE_MS);
  await using browser = await startBrowser();
  const { page } = await openPage(browser, {
    viewport: { width: 1280, height: 800 },
    colorScheme: "light",
  });
  await page.goto(url);
  await take(page, "calls");
  await page.getByRole("link", { name: "Demo: slow" }).click();
  await take(page, "slow-call");
  await page.getByRole("link", { name: "Insights", exact: true }).click();
  await page.getByRole("link", { name: "Simulated: shopping cart" }).first().click();
  await take(page, "insight");
} finally {
  child.kill();
  rmSync(folder, { recursive: true, force: true });
}

async function take(page: Page, name: string): Promise<void> {
  await page.locator("main h1").first().waitFor();
  await delay(2000); // charts draw in frames of their own
  mkdirSync(IMAGES, { recursive: true });
  await page.screenshot({ path: join(IMAGES, `${name}.png`) });
}
