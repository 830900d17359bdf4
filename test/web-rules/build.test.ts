// What `npm run build` leaves in the folder of the built pages.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { build } from "vite";

const CONFIG = join(import.meta.dirname, "../../web/vite.config.ts");
const root = mkdtempSync(join(tmpdir(), "sonde-build-"));
afterAll(() => rmSync(root, { recursive: true }));

/** Builds a page with this script. Returns the files that are then there. */
async function builtWith(script: string): Promise<string[]> {
  writeFileSync(join(root, "index.html"), '<script type="module" src="./main.js"></script>');
  writeFileSync(join(root, "main.js"), `document.title = "${script}";`);
  await build({ configFile: CONFIG, root, logLevel: "silent" });
  return readdirSync(join(root, "dist/assets"));
}

it("keeps the files of the two builds before, which running processes still serve", async () => {
  const first = await builtWith("one");
  expect(first.map((file) => file.replace(/^index-.+\.js/, ""))).toEqual(["", ".br", ".gz"]);
  await builtWith("two");
  await builtWith("three");
  const three = await builtWith("three"); // as `npm ci` and `npm run build` do
  expect(three).toEqual(expect.arrayContaining(first));
  expect(three).toHaveLength(9);
  const four = await builtWith("four");
  expect(four.filter((file) => first.includes(file))).toEqual([]);
  expect(four).toHaveLength(9);
});
