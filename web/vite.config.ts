// Builds the pages into web/dist, where the API serves them from: hashed names, each file also
// compressed.
import { readFileSync, writeFileSync } from "node:fs";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { defineConfig } from "vite";
import type { Plugin } from "vite";
import { keepingEarlier } from "../build/earlier-builds.ts";

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

export default defineConfig({
  root: import.meta.dirname,
  base: "./", // links are relative to the document's <base>
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "dist",
    emptyOutDir: false,
    target: "es2022",
    modulePreload: { polyfill: false },
    // Compressing takes most of the time.
    rolldownOptions: { checks: { bundlerTimings: false } },
  },
  plugins: [compressed(), keepingEarlier("assets")],
  // For `npx vite -c web/vite.config.ts`: pages as they are written, over a Sonde that runs here.
  server: { proxy: { "/api": SONDE, "/docs": SONDE } },
});
