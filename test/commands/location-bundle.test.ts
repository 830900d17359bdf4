import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { makeFolder } from "../support/process.ts";

it("leaves no part of a bundle for which there is no room", () => {
  using folder = makeFolder();
  const file = join(folder.path, "paris.tar");
  const program = `
    const { writeBundle } = await import(${JSON.stringify(resolve("src/commands/location-bundle.ts"))});
    try { writeBundle(${JSON.stringify(file)}, "paris", [], 0); } catch ({ message }) { console.log(message); }`;
  // A limit on the size of files stands for the full disk.
  const script = 'ulimit -f 1; exec "$0" --input-type=module -e "$1"';
  const { stdout } = spawnSync("bash", ["-c", script, process.execPath, program], {
    encoding: "utf8",
  });
  expect(stdout).toMatch(/^--bundle: cannot write '.*paris\.tar' \(EFBIG\): name a new file/);
  expect(existsSync(file)).toBe(false);
});
