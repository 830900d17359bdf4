// Mounts a file system of a few MiB, to test a full disk.
import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { track } from "./no-leftovers.ts";

export interface SmallDisk extends Disposable {
  readonly path: string;
  /** Takes up all the space left. */
  fill(): void;
  free(): void;
}

export function mountSmallDisk(mib: number): SmallDisk {
  if (process.getuid?.() !== 0)
    throw new Error("only root may mount a small disk: run `npm run test:faults` as root");
  const path = mkdtempSync(join(tmpdir(), "sonde-disk-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${mib}m,mode=755`, "tmpfs", path]);
  const untrack = track(`small disk ${path}`);
  const filler = join(path, "filler");
  return {
    path,
    fill() {
      const file = openSync(filler, "a");
      for (let bytes = 1024 * 1024; bytes >= 1;)
        try {
          writeSync(file, new Uint8Array(bytes));
        } catch {
          bytes = Math.floor(bytes / 2); // ENOSPC
        }
      closeSync(file);
    },
    free: () => rmSync(filler, { force: true }),
    [Symbol.dispose]() {
      execFileSync("umount", ["--lazy", path]);
      rmSync(path, { recursive: true, force: true });
      untrack();
    },
  };
}
