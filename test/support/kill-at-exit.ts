// Kills child processes with their parent: a test that times out does not dispose of them.
import type { ChildProcess } from "node:child_process";

const running = new Set<ChildProcess>();

process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** Returns the child. */
export function killAtExit<Child extends ChildProcess>(child: Child): Child {
  running.add(child);
  child.once("close", () => running.delete(child));
  return child;
}
