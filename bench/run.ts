// Runs benchmarks one after another, each in its own process on the core that is not measured.
// `npm run bench -- accuracy --rounds 1` runs one of them; bench/README.md lists the options.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { onCore } from "./support/children.ts";
import { parseOptions } from "./support/options.ts";

const BENCHMARKS = [
  "accuracy",
  "service",
  "agent",
  "aggregator",
  "beat",
  "api",
  "stats",
  "insights",
  "export",
  "start",
  "retention",
];

const args = process.argv.slice(2);
const { names, options } = readOptions();
const unknown = names.filter((name) => !BENCHMARKS.includes(name));
if (process.platform !== "linux") fail("the benchmarks need Linux: they read /proc");
if (unknown.length > 0)
  fail(`unknown benchmark ${unknown.join(", ")}: choose from ${BENCHMARKS.join(", ")}`);

for (const name of BENCHMARKS.filter((each) => names.length === 0 || names.includes(each))) {
  const path = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
  const [program = "", ...rest] = [...onCore("other"), process.execPath, path, ...args];
  const { status } = spawnSync(program, rest, {
    stdio: "inherit",
    env: { ...process.env, SONDE_BENCH_PINNED: "1", SONDE_BENCH_PROCESSORS: options.processors },
  });
  if (status !== 0) process.exitCode = 1;
}

function readOptions(): ReturnType<typeof parseOptions> {
  try {
    return parseOptions(args);
  } catch (cause) {
    return fail((cause as Error).message);
  }
}

function fail(why: string): never {
  console.error(why);
  process.exit(1);
}
