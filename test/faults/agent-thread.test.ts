// An agent's thread that ends by itself takes its process with it.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { makeFolder, startSonde } from "../support/process.ts";

/** Throws in each thread but the main one as soon as the folder has a file `fault`. */
const FAULT = `
  import { existsSync } from "node:fs";
  import { isMainThread } from "node:worker_threads";
  const throwIfTold = () => {
    if (existsSync("fault")) throw new Error("out of order");
  };
  if (!isMainThread) setInterval(throwIfTold, 20);
`;

it.each(["1", "2"])("a process ends when one of its agents does (threads: %s)", async (threads) => {
  using folder = makeFolder();
  const script = join(folder.path, "fault.mjs");
  writeFileSync(script, FAULT);
  await using sonde = startSonde(["serve"], {
    folder: folder.path,
    env: { NODE_OPTIONS: `--import=${pathToFileURL(script).href}`, SONDE_AGENT_THREADS: threads },
  });
  await sonde.ready();
  writeFileSync(join(folder.path, "fault"), "");
  expect(await sonde.exited).toEqual({ code: 1, signal: null });
  expect(sonde.stderr()).toBe("sonde: an agent's thread has ended: out of order\n");
  expect(sonde.log().map(({ level, msg }) => `${level} ${msg}`)).toContain("fatal agent lost");
});
