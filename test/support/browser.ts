// A real browser for the tests of the web pages: Debian's Chromium.
import { mkdirSync } from "node:fs";
import { chromium } from "playwright-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { findProgram } from "./programs.ts";

/** Screenshots of the pages, kept as artifacts of a run. */
const ARTIFACTS = "test-artifacts";

export interface WatchedPage {
  readonly page: Page;
  /** Page errors, failed requests, and violations of the Content-Security-Policy. */
  readonly faults: readonly string[];
  /** Every URL requested. */
  readonly requested: readonly string[];
}

/** Starts Chromium; if it is missing, rejects with what to install. */
export async function startBrowser(): Promise<Browser & AsyncDisposable> {
  const executablePath = findProgram("chromium");
  if (executablePath === undefined)
    throw new Error(
      "Chromium is not installed: apt-get install chromium, or put `chromium` on the PATH",
    );
  return chromium.launch({
    executablePath,
    timeout: 60_000, // Chromium may have to be read from disk first
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
}

/** Opens a page in its own context, with its own cookies. */
export async function openPage(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(25_000);
  const faults: string[] = [];
  const requested: string[] = [];
  page.on("pageerror", ({ message }) => faults.push(message));
  page.on("request", (request) => requested.push(request.url()));
  page.on("requestfailed", (request) => {
    // Leaving a page aborts its requests.
    const reason = request.failure()?.errorText;
    if (reason !== "net::ERR_ABORTED") faults.push(`${request.url()}: ${reason}`);
  });
  page.on("console", (message) => {
    const text = message.text();
    if (/Content Security Policy|Refused to/i.test(text)) faults.push(text);
  });
  return { page, faults, requested };
}

/** Keeps a full-page screenshot. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  mkdirSync(ARTIFACTS, { recursive: true });
  await page.evaluate("scrollTo(0, 0)");
  await page.screenshot({ path: `${ARTIFACTS}/${name}.png`, fullPage: true });
}
