// Runs the benchmarks one after another, each in its own process. `npm run bench -- api` runs one.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const BENCHMARKS = ["api", "agent"];

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !BENCHMARKS.includes(name));
if (unknown.length > 0) {
  console.error(`unknown benchmark ${unknown.join(", ")}: choose from ${BENCHMARKS.join(", ")}`);
  process.exit(1);
}

for (const name of BENCHMARKS.filter((each) => wanted.length === 0 || wanted.includes(each))) {
  const path = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
  const { status } = spawnSync(process.execPath, [path], { stdio: "inherit" });
  if (status !== 0) process.exitCode = 1;
}
