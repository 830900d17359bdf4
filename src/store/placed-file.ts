// A file that appears under its name once it is complete: until then it has another one beside it.
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { syncFile } from "./snapshot.ts";

/** What SQLite keeps beside a database. */
export const BESIDE = ["-wal", "-shm", "-journal"] as const;

/** A name for the incomplete file, which says whose it is. */
export const partialName = (path: string): string =>
  `${path}.partial-${process.pid}-${randomUUID().slice(0, 8)}`;

/** Gives the file, which is on disk, its name; from then on it is there also after a power cut. */
export function place(partial: string, path: string): void {
  renameSync(partial, path);
  syncFile(dirname(path));
}

export function removeDatabase(path: string): void {
  for (const suffix of ["", ...BESIDE]) rmSync(`${path}${suffix}`, { force: true });
}

/**
 * Removes what processes left that were killed before their file was complete. Call it before this
 * one has begun its own: in a container, each process has the same number.
 */
export function removeLeftovers(path: string): void {
  const folder = dirname(path);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  for (const name of names) {
    const [, of, pid] = /^(.+)\.partial-(\d+)-[0-9a-f]{8}/.exec(name) ?? [];
    if (of === basename(path) && hasEnded(Number(pid))) rmSync(join(folder, name));
  }
}

function hasEnded(pid: number): boolean {
  if (pid === process.pid) return true;
  try {
    process.kill(pid, 0);
    return false;
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code !== "EPERM"; // another user's
  }
}
