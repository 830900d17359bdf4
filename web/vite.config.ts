// Builds the pages into web/dist, where the API serves them from: hashed names, each file also
// compressed.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { defineConfig } from "vite";
import type { Plugin } from "vite";

const SONDE = "http://127.0.0.1:8080";

const COMPRESSED = /\.(?:js|css|svg)$/;

const compressed = (): Plugin => ({
  name: "compressed",
  writeBundle({ dir = "" }, bundle) {
    for (const name of Object.keys(bundle)) {
      if (!COMPRESSED.test(name)) continue;
      const bytes = readFileSync(`${dir}/${name}`);
      writeFileSync(`${dir}/${name}.gz`, gzipSync(bytes, { level: 9 }));
      writeFileSync(`${dir}/${name}.br`, brotliCompressSync(bytes));
    }
  },
});

/** Builds of different contents, with the newest. */
const KEPT_BUILDS = 3;

/**
 * Keeps the files of the builds before: a process that was started on one still serves them, and so
 * does the next process to the tabs that are open.
 */
const keepingEarlier = (): Plugin => ({
  name: "keeping-earlier",
  writeBundle({ dir = "" }, bundle) {
    const list = `${dir}/builds.json`;
    const files = readdirSync(`${dir}/assets`);
    const built = Object.keys(bundle).filter((name) => name.startsWith("assets/"));
    const earlier = existsSync(list)
      ? (JSON.parse(readFileSync(list, "utf8")) as string[][])
      : [files.map((file) => `assets/${file}`)];
    const others = earlier.filter((names) => !isDeepStrictEqual(names, built));
    const kept = [built, ...others].slice(0, KEPT_BUILDS);
    writeFileSync(list, JSON.stringify(kept));
    const wanted = new Set(kept.flat());
    for (const file of files)
      if (!wanted.has(`assets/${file.replace(/\.(?:gz|br)$/, "")}`))
        rmSync(`${dir}/assets/${file}`);
  },
});

export default defineConfig({
  root: import.meta.dirname,
  base: "./", // links are relative to the document's <base>
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "dist",
    emptyOutDir: false,
    target: "es2022",
    modulePreload: { polyfill: false },
  },
  plugins: [compressed(), keepingEarlier()],
  // For `npx vite -c web/vite.config.ts`: pages as they are written, over a Sonde that runs here.
  server: { proxy: { "/api": SONDE, "/docs": SONDE } },
});
