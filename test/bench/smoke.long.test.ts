// Every benchmark runs with tiny numbers, and prints its table and its JSON. The figures themselves
// are not checked: speed depends on the machine.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, it } from "vitest";
import { COMPILED_CODE } from "../support/process.ts";

const folder = mkdtempSync(join(tmpdir(), "sonde-bench-test-"));
afterAll(() => rmSync(folder, { recursive: true }));

interface Document {
  readonly benchmark: string;
  readonly versions: Readonly<Record<string, string | null>>;
  readonly figures: readonly {
    readonly what: string;
    readonly unit: string;
    readonly rounds: readonly unknown[];
  }[];
  readonly skipped: readonly string[];
}

async function runBench(...args: readonly string[]) {
  const child = spawn(process.execPath, ["bench/run.ts", ...args, "--out", folder], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILED_CODE },
  });
  const [stdout, stderr] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  return { code: child.exitCode, stdout, stderr };
}

describe("npm run bench", () => {
  it.each([
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
  ])("%s prints a table and writes JSON with the versions of everything", async (name) => {
    const { code, stdout, stderr } = await runBench(name, "--smoke");
    expect(code, stderr).toBe(0);
    const path = stdout.trim().split("\n").at(-1) ?? "";
    const { benchmark, versions, figures, skipped } = JSON.parse(
      readFileSync(path, "utf8"),
    ) as Document;
    expect(benchmark).toBe(name);
    expect(versions).toMatchObject({
      node: process.versions.node,
      date: expect.any(String) as string,
      kernel: expect.any(String) as string,
      machine: expect.any(String) as string,
    });
    // A server that a benchmark cannot do without may be missing.
    if (skipped.length === 0) expect(figures).not.toEqual([]);
    for (const { what, unit, rounds } of figures) {
      expect(stdout).toContain(`${what.trim()} `);
      expect(unit).not.toBe("");
      expect(rounds).toEqual([expect.any(Number)]);
    }
    for (const what of skipped) expect(stdout).toContain(`skipped: ${what}`);
  });

  it("lists the benchmarks for an unknown one, and names a wrong option", async () => {
    const unknown = await runBench("speed");
    expect(unknown).toMatchObject({ code: 1, stdout: "" });
    expect(unknown.stderr).toMatch(/unknown benchmark speed: choose from accuracy, .*retention\n$/);
    const wrong = await runBench("--rounds", "many");
    expect(wrong).toMatchObject({ code: 1, stderr: '--rounds: "many" is not a number\n' });
  });
});
