// The pages of a running Sonde, as a signed-in reader sees them.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import type { BrowserContextOptions, Page } from "playwright-core";
import { expect } from "vitest";
import { openPage, startBrowser } from "./browser.ts";
import type { WatchedPage } from "./browser.ts";
import { httpClient } from "./client.ts";
import { startSonde } from "./process.ts";

export const OWNER_KEY = "0123456789abcdefghijABCDEFGHIJ01";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** Starts Sonde and a browser; disposal ends both. */
export async function startPages({
  args = ["serve"],
  env = {},
}: {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
} = {}) {
  await using stack = new AsyncDisposableStack();
  const sonde = stack.use(startSonde(args, { env: { SONDE_BOOTSTRAP_KEY: OWNER_KEY, ...env } }));
  await sonde.ready();
  const api = await sonde.api();
  const browser = stack.use(await startBrowser());
  const ours = stack.move();
  return {
    sonde,
    api,
    client: httpClient(api, OWNER_KEY),
    /**
     * Opens the page at this path, such as `/calls`, signed in with the key, in its own context.
     */
    async open(
      path: string,
      { key = OWNER_KEY, ...options }: BrowserContextOptions & { readonly key?: string } = {},
    ): Promise<WatchedPage> {
      const watched = await openPage(browser, options);
      const headers = { authorization: `Bearer ${key}` };
      const answer = await watched.page
        .context()
        .request.post(`${api}/api/2/session/`, { headers });
      expect(answer.status()).toBe(201);
      await watched.page.goto(`${api}${path}`);
      return watched;
    },
    [Symbol.asyncDispose]: () => ours.disposeAsync(),
  };
}

export interface Rules {
  readonly only?: readonly string[];
  readonly but?: readonly string[];
}

/** Returns what axe finds on the page as shown: by all rules, `only` these, or all `but` these. */
export async function findingsOf(page: Page, { only, but = [] }: Rules = {}): Promise<string[]> {
  await page.evaluate(AXE);
  const options = {
    runOnly: only ? { type: "rule", values: only } : { type: "tag", values: RULES },
    rules: Object.fromEntries(but.map((rule) => [rule, { enabled: false }])),
  };
  return page.evaluate(
    `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) =>
      violations.map(({ id, impact, nodes }) => id + " (" + impact + "): " + nodes[0].html))`,
  );
}

/** Fails with every finding of axe. */
export async function expectAccessible(page: Page): Promise<void> {
  expect(await findingsOf(page)).toEqual([]);
}

/** Returns how many pixels of the table the reader sees only by scrolling sideways. */
export const beyondEdgeOf = (page: Page, table: string): Promise<number> =>
  page.evaluate(`(() => {
    const { scrollWidth, clientWidth } = document.querySelector(${JSON.stringify(table)}).parentElement;
    return scrollWidth - clientWidth;
  })()`);
