// Checks what programs outside Sonde read, as the compiler checks source code.
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

// Below node_modules, so that the compiler finds the types.
const CACHE = "node_modules/.cache/type-check";
const TSC = "node_modules/typescript/bin/tsc";
const OPTIONS = ["--ignoreConfig", "--noEmit", "--strict", "--skipLibCheck", "--pretty", "false"];

/** Returns what the compiler reports about the source; empty if nothing is wrong. */
export async function faultsIn(source: string, ...options: readonly string[]): Promise<string> {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, "check-"));
  try {
    const file = join(folder, "source.ts");
    writeFileSync(file, source);
    const words = [TSC, ...OPTIONS, "--types", "", ...options, file];
    return await new Promise((resolve) => {
      execFile(process.execPath, words, (error, stdout, stderr) => {
        resolve(error === null ? "" : stdout + stderr);
      });
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
