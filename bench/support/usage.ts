// CPU and memory that a process and its children have used, according to Linux.
import { globSync, readFileSync } from "node:fs";

// USER_HZ is 100 on every architecture that Node runs on.
const MS_PER_TICK = 10;
const KB = 1024;

/** User and system milliseconds of the process and all its descendants, including ended ones. */
export const cpuMs = (pid: number): number =>
  treeOf(pid).reduce((sum, { cpuTicks }) => sum + cpuTicks * MS_PER_TICK, 0);

/** Resident megabytes; pages shared by processes of the tree count once. */
export function memoryMb(pid: number): number {
  const processes = treeOf(pid);
  if (processes.length === 1) return kilobytes(`/proc/${pid}/status`, "VmRSS") / KB;
  const shares = processes.map((each) => kilobytes(`/proc/${each.pid}/smaps_rollup`, "Pss"));
  return shares.reduce((sum, share) => sum + share, 0) / KB;
}

/** Peak resident memory of the process itself so far, in megabytes. */
export const peakMemoryMb = (pid: number): number => kilobytes(`/proc/${pid}/status`, "VmHWM") / KB;

interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  readonly cpuTicks: number;
}

function treeOf(root: number): ProcessStat[] {
  const all = globSync("/proc/[0-9]*/stat").flatMap((path) => readStat(path));
  const tree = all.filter(({ pid }) => pid === root);
  for (const { pid } of tree) tree.push(...all.filter(({ parent }) => parent === pid));
  return tree;
}

/** Empty if the process has ended. */
function readStat(path: string): ProcessStat[] {
  try {
    const text = readFileSync(path, "utf8");
    // The name in parentheses may hold anything:
    // https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
    const [, parent, ...rest] = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const cpuTicks = rest.slice(9, 13).reduce((sum, ticks) => sum + Number(ticks), 0);
    return [{ pid: Number(text.split(" ", 1)[0]), parent: Number(parent), cpuTicks }];
  } catch {
    return [];
  }
}

function kilobytes(path: string, field: string): number {
  try {
    const text = readFileSync(path, "utf8");
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(text)?.[1] ?? 0);
  } catch {
    return 0;
  }
}
