import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const MODULE = fileURLToPath(new URL("../../src/runtime/memory.ts", import.meta.url));
const MB = 1024 * 1024;

/** Returns by how much the heap shrinks when its garbage, some 40 MB, is released. */
const released = (...options: readonly string[]): number =>
  Number(
    execFileSync(process.execPath, [
      ...options,
      "--input-type=module",
      "--eval",
      `import { getHeapStatistics } from "node:v8";
       import { releaseMemory } from ${JSON.stringify(MODULE)};
       let garbage = Array.from({ length: 1e6 }, (_, n) => ({ n }));
       const before = getHeapStatistics().total_physical_size;
       garbage = undefined;
       releaseMemory();
       process.stdout.write(String(before - getHeapStatistics().total_physical_size));`,
    ]),
  );

describe("releasing memory", () => {
  it("returns freed memory to the system", () => {
    expect(released("--expose-gc")).toBeGreaterThan(20 * MB);
  });

  it("does nothing unless Node offers it", () => {
    expect(released()).toBeLessThan(20 * MB);
  });
});
