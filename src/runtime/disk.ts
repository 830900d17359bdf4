// Measures how full the file system of a folder is.
import { statfs } from "node:fs/promises";
import { systemClock } from "./clock.ts";
import type { Service } from "./lifecycle.ts";
import type { Logger } from "./logger.ts";
import { registerSampled } from "./metrics.ts";
import type { Registry } from "./metrics.ts";
import { MEASURE_EVERY_MS, createReading } from "./reading.ts";
import { createRounds } from "./rounds.ts";

export interface DiskOptions {
  /** The value of the label `disk`. */
  readonly name: string;
  readonly folder: string;
  readonly registry: Registry;
  readonly log: Logger;
}

/** Measures in the background, since a network file system may not answer. */
export function createDiskWatch({ name: disk, folder, registry, log }: DiskOptions): Service {
  const space = createReading<{ readonly free: number; readonly size: number }>(systemClock);
  const register = (metric: string, help: string, of: "free" | "size"): void =>
    registerSampled({
      name: metric,
      help,
      registers: [registry],
      samples: () => {
        const known = space.get();
        return known ? [{ labels: { disk }, value: known[of] }] : [];
      },
    });
  register("sonde_disk_free_bytes", "Room for this user on the disk of the data folder.", "free");
  register("sonde_disk_size_bytes", "Size of the disk of the data folder.", "size");
  return createRounds({
    name: `${disk} disk`,
    everyMs: MEASURE_EVERY_MS,
    clock: systemClock,
    log,
    work: async () => {
      const { bavail, blocks, bsize } = await statfs(folder);
      space.set({ free: bavail * bsize, size: blocks * bsize });
    },
  });
}
