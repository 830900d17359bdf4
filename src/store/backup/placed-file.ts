// Files with a temporary name until they are complete.
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, realpathSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { syncFile } from "./snapshot.ts";

/** The suffixes of the files that SQLite keeps beside a database. */
export const BESIDE = ["-wal", "-shm", "-journal"] as const;

/** Returns a name for the incomplete file; it names the process that writes it. */
export const partialName = (path: string): string =>
  `${path}.partial-${process.pid}-${randomUUID().slice(0, 8)}`;

/** Whether both names lead to one existing file. */
export const isSameFile = (a: string, b: string): boolean =>
  existsSync(a) && existsSync(b) && realpathSync(a) === realpathSync(b);

/**
 * Gives a file that is synced to disk its name, durably: a power cut does not undo it. Removes the
 * log of a former file of that name, which SQLite would replay into this one.
 */
export function place(partial: string, path: string): void {
  for (const suffix of BESIDE) rmSync(`${path}${suffix}`, { force: true });
  renameSync(partial, path);
  syncFile(dirname(path));
}

export function removeDatabase(path: string): void {
  for (const suffix of ["", ...BESIDE]) rmSync(`${path}${suffix}`, { force: true });
}

/**
 * Removes incomplete files of killed processes. Call it before this process begins its own: in a
 * container, the pid is the same at each start.
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
    return (cause as NodeJS.ErrnoException).code !== "EPERM"; // it runs, as another user
  }
}
