// Runs the checks that need no server in parallel: while the tests wait for files and clocks, the
// others use the processors. Prints the output of each as a whole when it ends.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";

const SCRIPTS = ["types", "lint", "format:check", "test:quick"];

const passed = await Promise.all(SCRIPTS.map(run));
if (!passed.every(Boolean)) process.exitCode = 1;

async function run(script: string): Promise<boolean> {
  const started = performance.now();
  const child = spawn(process.execPath, ["--run", script], { stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number | null]>,
  ]);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${stdout}${stderr}${script}: ${code === 0 ? "passed" : "FAILED"} in ${seconds} s`);
  return code === 0;
}
