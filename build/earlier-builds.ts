// Keeps what earlier builds made, of the program and of its pages.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Plugin } from "rolldown";

/** Builds of different contents, with the newest. */
const KEPT_BUILDS = 3;

/**
 * Keeps the files of the builds before in `folder` of the output: a process that was started on one
 * still loads and serves them, and so does the next process to the pages that are open.
 */
export const keepingEarlier = (folder = ""): Plugin => ({
  name: "keeping-earlier",
  writeBundle({ dir = "" }, bundle) {
    const list = join(dir, "builds.json");
    const files = readdirSync(join(dir, folder), { withFileTypes: true })
      .filter((file) => file.isFile() && file.name !== "builds.json")
      .map(({ name }) => join(folder, name));
    const built = Object.keys(bundle).filter((name) => name.startsWith(folder));
    const earlier = existsSync(list)
      ? (JSON.parse(readFileSync(list, "utf8")) as string[][])
      : [files];
    const others = earlier.filter((names) => !isDeepStrictEqual(names, built));
    const kept = [built, ...others].slice(0, KEPT_BUILDS);
    writeFileSync(list, JSON.stringify(kept));
    const wanted = new Set(kept.flat());
    for (const file of files)
      if (!wanted.has(file.replace(/\.(?:gz|br)$/, ""))) rmSync(join(dir, file));
  },
});
