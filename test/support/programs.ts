// Finds the programs started by tests, and reads their first output.
import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, existsSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Readable } from "node:stream";

// Servers are often installed in folders that only root's PATH contains.
const SERVER_FOLDERS = ["/usr/sbin", "/usr/local/sbin"];

const POSTGRES_VERSIONS = "/usr/lib/postgresql";
const MIN_POSTGRES = 15;

const searchPath = (): string[] => [
  ...(process.env["PATH"] ?? "").split(delimiter),
  ...SERVER_FOLDERS,
];

/** Returns the first executable with this name. */
export const findProgram = (name: string): string | undefined =>
  searchPath()
    .map((folder) => join(folder, name))
    .find((path) => isRunnable(path));

function isRunnable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Returns the folder of the programs of PostgreSQL 15 or later. */
export function findPostgres(): string | undefined {
  const versions = existsSync(POSTGRES_VERSIONS) ? readdirSync(POSTGRES_VERSIONS) : [];
  return versions
    .filter((version) => Number(version) >= MIN_POSTGRES)
    .map((version) => join(POSTGRES_VERSIONS, version, "bin"))
    .concat(searchPath())
    .find((folder) => ["initdb", "postgres"].every((name) => isRunnable(join(folder, name))));
}

/** Resolves with the first output of a child; rejects if it ends without any. */
export async function firstOutput(
  child: ChildProcessByStdio<null, Readable, null>,
): Promise<string> {
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`${child.spawnargs.join(" ")} ended with ${String(code)}`);
  });
  const [data] = await Promise.race([once(child.stdout, "data"), ended]);
  return String(data);
}
