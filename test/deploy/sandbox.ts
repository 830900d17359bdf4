// Runs a program as a container would: in an empty root that it cannot write, as another user
// without capabilities, with processes of its own. It shares this machine's network.
import { execFileSync, spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { findProgram } from "../support/programs.ts";

const TOOLS = ["unshare", "setpriv", "mount", "chroot", "sh"];

// $1 is the root, $2 the user and group, $3 the working directory, the rest the command. The mounts
// end with their namespace. Each folder in $WRITABLE stays writable.
const ENTER = `
set -e
root=$1 user=$2 folder=$3
shift 3
mount --bind "$root" "$root"
mkdir -p "$root/proc"
mount -t proc proc "$root/proc"
for path in $WRITABLE; do mount --bind "$root$path" "$root$path"; done
mount -o remount,bind,ro "$root"
exec env --chdir="$root$folder" -u WRITABLE \
  setpriv --no-new-privs chroot --userspec="$user" --groups= "$root" "$@"
`;

export interface Sandbox {
  readonly root: string;
  /** `uid:gid` */
  readonly user: string;
  /** Folders in the root. */
  readonly writable: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface Sandboxed {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  /** Of the program, outside; undefined until it runs. */
  readonly pid: () => number | undefined;
}

/** Throws, with what is missing, where this machine cannot make a sandbox. */
export function requireSandbox(): void {
  if (process.getuid?.() !== 0)
    throw new Error(
      "this test makes mounts and changes its user, so it needs root: run it as root, as CI does",
    );
  const missing = TOOLS.filter((name) => findProgram(name) === undefined);
  if (missing.length > 0)
    throw new Error(
      `${missing.join(", ")} not found: apt-get install util-linux mount coreutils, or put them on the PATH`,
    );
}

/** The program sees nothing of this machine's files but `root`. */
export function runInSandbox(
  { root, user, writable, env }: Sandbox,
  command: readonly string[],
): Sandboxed {
  const child = spawn(
    "unshare",
    // Its processes end with it, whatever happens to it.
    ["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, "sh", root, user, "/"].concat(
      command,
    ),
    {
      env: { PATH: process.env["PATH"], ...env, WRITABLE: writable.join(" ") },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const pid = (): number | undefined => {
    const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8");
    return children === "" ? undefined : Number(children);
  };
  return { child, pid };
}

/** Copies a program of this machine into a root, with the libraries that it loads. */
export function addProgram(root: string, program: string, path: string): void {
  const libraries = execFileSync("ldd", [program], { encoding: "utf8" }).matchAll(/\/\S+(?= \()/g);
  for (const [library] of libraries) addFile(root, library, library);
  addFile(root, program, path);
}

function addFile(root: string, from: string, path: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  copyFileSync(from, join(root, path));
}
