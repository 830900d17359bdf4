// Finds the programs that tests start.
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

// Servers are often installed where the PATH of a user who is not root does not look.
const SERVER_FOLDERS = ["/usr/sbin", "/usr/local/sbin"];

export const searchPath = (): string[] => [
  ...(process.env["PATH"] ?? "").split(delimiter),
  ...SERVER_FOLDERS,
];

/** The path of the first executable of this name, or undefined. */
export const findProgram = (
  name: string,
  folders: readonly string[] = searchPath(),
): string | undefined =>
  folders.map((folder) => join(folder, name)).find((path) => isRunnable(path));

function isRunnable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
