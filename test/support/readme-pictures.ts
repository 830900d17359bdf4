// Takes the screenshots of the README in a demo that has run for an hour, by a link that signs in.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Page } from "playwright-core";
import { openPage, startBrowser } from "./browser.ts";

const IMAGES = "docs/images";

const [link] = process.argv.slice(2);
if (link === undefined)
  throw new Error('usage: npm run pictures -- "$(npm run -s sonde -- keys link)"');

await using browser = await startBrowser();
const { page } = await openPage(browser, {
  viewport: { width: 1280, height: 800 },
  colorScheme: "light",
});
await page.goto(link);
await take(page, "calls");
await page.getByRole("link", { name: "Simulated: sales report" }).click();
await page
  .getByRole("region", { name: "At a glance" })
  .getByRole("link", { name: /:00 UTC$/ })
  .click();
await take(page, "slow-call");
await page.getByRole("link", { name: "Insights", exact: true }).click();
await page.getByRole("link", { name: "Simulated: shopping cart" }).first().click();
await take(page, "insight");

async function take(shown: Page, name: string): Promise<void> {
  await shown.locator("main h1").first().waitFor();
  await delay(4000); // charts are drawn once their figures have been read
  mkdirSync(IMAGES, { recursive: true });
  await shown.screenshot({ path: join(IMAGES, `${name}.png`) });
}
