// Runs a program as a container would: in an empty read-only root, as another user without
// capabilities, in its own process namespace. It shares this machine's network.
import { spawn, spawnSync } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { findProgram } from "../support/programs.ts";

const TOOLS = ["unshare", "setpriv", "mount", "chroot", "sh"];

// $1 is the root, $2 the user and group, the rest the command. Each line of $MOUNTS is a folder,
// its path in the root, and ro or rw. The mounts disappear with their namespace.
const ENTER = `
set -e
root=$1 user=$2
shift 2
mount --bind "$root" "$root"
mkdir -p "$root/proc" "$root/dev"
mount -t proc proc "$root/proc"
for device in null urandom; do
  test -e "$root/dev/$device" || : >>"$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
printf %s "$MOUNTS" | while read -r from to mode; do
  mkdir -p "$root$to"
  mount --bind "$from" "$root$to"
  mount -o "remount,bind,$mode" "$root$to"
done
mount -o remount,bind,ro "$root"
exec env --chdir="$root" -u MOUNTS \
  setpriv --no-new-privs chroot --userspec="$user" --groups= "$root" "$@"
`;

export interface Sandbox {
  readonly root: string;
  /** `uid:gid` */
  readonly user: string;
  readonly mounts: readonly Mount[];
  readonly env: Readonly<Record<string, string>>;
}

export interface Mount {
  readonly folder: string;
  /** Its path in the root. */
  readonly at: string;
  readonly writable: boolean;
}

export interface Sandboxed {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  /** The program's process id outside the sandbox; undefined until it runs. */
  readonly pid: () => number | undefined;
}

/** Throws, naming what is missing, if this machine cannot make a sandbox. */
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

/** Runs the program so that it sees none of this machine's files except `root`. */
export function runInSandbox(
  { root, user, mounts, env }: Sandbox,
  command: readonly string[],
): Sandboxed {
  const child = spawn(
    "unshare",
    // Kills the sandbox's processes when unshare ends, however it ends.
    ["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, "sh", root, user].concat(
      command,
    ),
    {
      env: { PATH: process.env["PATH"], ...env, MOUNTS: mounts.map(line).join("") },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const pid = (): number | undefined => {
    const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8");
    return children === "" ? undefined : Number(children);
  };
  return { child, pid };
}

const line = ({ folder, at, writable }: Mount): string =>
  `${folder} ${at} ${writable ? "rw" : "ro"}\n`;

/** Copies a program of this machine into a root, with the libraries that it loads. */
export function addProgram(root: string, program: string, path: string): void {
  // ldd fails for a program that loads none.
  const { stdout } = spawnSync("ldd", [program], { encoding: "utf8" });
  const libraries = stdout.matchAll(/\/\S+(?= \()/g);
  for (const [library] of libraries) addFile(root, library, library);
  addFile(root, program, path);
}

function addFile(root: string, from: string, path: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  copyFileSync(from, join(root, path));
}
