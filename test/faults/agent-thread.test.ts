// An agent's thread that ends unexpectedly takes its process with it.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { makeFolder, startSonde } from "../support/process.ts";

/** Throws in every thread but the main one as soon as the folder contains a file `fault`. */
const FAULT = `
  import { existsSync } from "node:fs";
  import { isMainThread } from "node:worker_threads";
  const throwIfTold = () => {
    if (existsSync("fault")) throw new Error("out of order");
  };
  if (!isMainThread) setInterval(throwIfTold, 20);
`;

const ENDED = "sonde: an agent's thread has ended: out of order\n";

function startFaulty(folder: string, threads: string) {
  const script = join(folder, "fault.mjs");
  writeFileSync(script, FAULT);
  return startSonde(["serve"], {
    folder,
    env: { NODE_OPTIONS: `--import=${pathToFileURL(script).href}`, SONDE_AGENT_THREADS: threads },
  });
}

it.each(["1", "2"])("a process ends when one of its agents does (threads: %s)", async (threads) => {
  using folder = makeFolder();
  await using sonde = startFaulty(folder.path, threads);
  await sonde.ready();
  writeFileSync(join(folder.path, "fault"), "");
  expect(await sonde.exited).toEqual({ code: 1, signal: null });
  expect(sonde.stderr()).toBe(ENDED);
  expect(sonde.log().map(({ level, msg }) => `${level} ${msg}`)).toContain("fatal agent lost");
});

it("a process does not start when one of its agents ends during startup", async () => {
  using folder = makeFolder();
  writeFileSync(join(folder.path, "fault"), "");
  await using sonde = startFaulty(folder.path, "2");
  expect(await sonde.exited).toEqual({ code: 1, signal: null });
  expect(sonde.stderr()).toBe(ENDED);
});
