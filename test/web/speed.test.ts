// How soon the pages appear with nothing else running: `npm test` runs this last, alone.
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openFolder } from "../support/data-folder.ts";
import { seedCalls } from "../support/many-calls.ts";
import { startPages } from "../support/pages.ts";
import { makeFolder } from "../support/process.ts";

const A_CALL = 'main a[href*="calls/0"]';

/** Notes when the first call is shown, in milliseconds since the navigation began. */
const WATCH = `new MutationObserver((_, watch) => {
  if (!document.querySelector(${JSON.stringify(A_CALL)})) return;
  watch.disconnect();
  requestAnimationFrame(() => (globalThis.shownAfter = performance.now()));
}).observe(document, { childList: true, subtree: true })`;

it(
  "the first of 10,000 calls is shown within a second",
  { timeout: 180_000 },
  async ({ annotate }) => {
    using folder = makeFolder();
    const masterKey = randomBytes(32);
    mkdirSync(folder.dataDir, { recursive: true });
    writeFileSync(join(folder.dataDir, "master-key"), masterKey.toString("base64"));
    const store = await openFolder(folder, masterKey);
    await seedCalls(store, { count: 10_000, hours: 2, now: await store.now(), owner: "owner" });
    await store.close();
    await using many = await startPages({ env: { SONDE_DATA_DIR: folder.dataDir } });
    const shown: number[] = [];
    // Takes the best of three, or of more if other work kept the machine busy.
    while (shown.length < 3 || (Math.min(...shown) >= 1000 && shown.length < 10)) {
      const { page } = await many.open("/api/2/session/");
      await page.addInitScript(WATCH);
      await page.goto(many.api);
      const after = (): Promise<number> => page.evaluate("globalThis.shownAfter ?? 0");
      await expect.poll(after).toBeGreaterThan(0);
      shown.push(await after());
      await page.context().close();
    }
    await annotate(`after ${shown.map((ms) => ms.toFixed(0)).join(", ")} ms`);
    expect(Math.min(...shown)).toBeLessThan(1000);
  },
);
