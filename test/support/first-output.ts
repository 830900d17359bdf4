// What a child process says when it is ready.
import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";

/** Rejects where the child ends and has said nothing. */
export async function firstOutput(
  child: ChildProcessByStdio<null, Readable, null>,
): Promise<string> {
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`${child.spawnargs.join(" ")} ended with ${String(code)}`);
  });
  const [data] = await Promise.race([once(child.stdout, "data"), ended]);
  return String(data);
}
