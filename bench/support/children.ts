// Child processes on a chosen core, and temporary folders. Both are always cleaned up when the
// benchmark ends.
import { fork, spawn } from "node:child_process";
import type { ChildProcess, Serializable } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { findProgram } from "../../test/support/programs.ts";

/**
 * The measured process has a core to itself, or all of them (`--processors all`); everything else
 * shares the other.
 */
export type Core = "measured" | "other";

const STOP_WITHIN_MS = 30_000;

const running = new Set<ChildProcess>();
const folders = new Set<string>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));

/** Returns the command prefix that pins a process to this core; empty if there is only one core. */
export function onCore(core: Core): readonly string[] {
  const taskset = findProgram("taskset");
  if (taskset === undefined || (availableParallelism() < 2 && !isPinned())) return [];
  return [taskset, "--cpu-list", core === "measured" ? MEASURED : "1"];
}

const MEASURED = process.env["SONDE_BENCH_PROCESSORS"] === "all" ? `0-${cpus().length - 1}` : "0";

// run.ts pins this process itself, which then sees one processor.
const isPinned = (): boolean => process.env["SONDE_BENCH_PINNED"] === "1";

export interface ChildOptions {
  readonly core: Core;
  readonly env?: Readonly<Record<string, string>>;
  /** Ignored by default. */
  readonly stdout?: "pipe";
}

/** Passes stderr through to that of this process. */
export function startChild(
  command: readonly string[],
  { core, env = {}, stdout }: ChildOptions,
): ChildProcess {
  const [program = "", ...args] = [...onCore(core), ...command];
  const child = spawn(program, args, {
    // Drops this process's own settings.
    env: {
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      ...env,
    },
    stdio: ["ignore", stdout ?? "ignore", "inherit"],
  });
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

/** Starts one of our programs with a channel for messages. `options` are Node's. */
export function forkChild(
  path: string,
  args: readonly string[],
  core: Core,
  options: readonly string[] = [],
): ChildProcess {
  const [execPath = process.execPath, ...execArgv] = [
    ...onCore(core),
    process.execPath,
    ...options,
  ];
  const child = fork(path, args, { execPath, execArgv });
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

/** Starts one of our programs on the measured core; it answers each order with one message. */
export function startAnswering<Answer>(path: string, ...args: readonly string[]) {
  const child = forkChild(path, args, "measured");
  const ended = once(child, "exit").then(() => {
    throw new Error(`${basename(path)} ended`);
  });
  ended.catch(() => undefined); // rejects for those who wait for an answer
  return {
    pid: child.pid ?? 0,
    async ask(order: Serializable): Promise<Answer> {
      child.send(order);
      const [answer] = (await Promise.race([once(child, "message"), ended])) as [Answer];
      return answer;
    },
    [Symbol.asyncDispose]: () => stopChild(child),
  };
}

/** Sends SIGTERM, then SIGKILL after a timeout. */
export async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  const force = setTimeout(() => child.kill("SIGKILL"), STOP_WITHIN_MS);
  await exited;
  clearTimeout(force);
}

export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sonde-bench-"));
  folders.add(folder);
  return folder;
}

export const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
