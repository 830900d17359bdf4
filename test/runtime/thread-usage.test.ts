// What counts as the use of a thread, where two threads compete for one processor.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const PROGRAM = `
  import { once } from "node:events";
  import { Worker } from "node:worker_threads";
  const { busyNow } = await import(process.argv[1]);
  const competitor = new Worker("for (;;);", { eval: true });
  await once(competitor, "online");
  const [began, busy] = [performance.now(), busyNow()];
  while (performance.now() - began < 500);
  console.log(busyNow() - busy - (performance.now() - began));
  process.exit();
`;

it("a thread's waits for a processor count as busy, in addition to its work", async () => {
  const usage = new URL("../../src/runtime/thread-usage.ts", import.meta.url).href;
  const node = [process.execPath, "--input-type=module", "--eval", PROGRAM, usage];
  const { stdout } = await promisify(execFile)("taskset", ["--cpu-list", "0", ...node]);
  expect(Number(stdout)).toBeGreaterThan(100);
});
