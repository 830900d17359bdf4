// What was measured, with which versions, on which machine.
import { spawnSync } from "node:child_process";
import { cpus, release, totalmem } from "node:os";
import { join } from "node:path";
import { VERSION } from "../../src/version.ts";
import { findPostgres, findProgram } from "../../test/support/programs.ts";

export interface Versions {
  readonly date: string;
  readonly machine: string;
  readonly kernel: string;
  readonly sonde: string;
  readonly node: string;
  /** Null if it is not installed. */
  readonly [server: string]: string | null;
}

export function readVersions(): Versions {
  const [cpu] = cpus();
  const postgres = findPostgres();
  return {
    date: new Date().toISOString(),
    machine: `${cpus().length} × ${cpu?.model}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    kernel: release(),
    sonde: `${VERSION} ${firstLine("git", "describe", "--always", "--dirty") ?? ""}`.trim(),
    node: process.versions.node,
    "nats-server": versionOf("nats-server", "--version"),
    postgresql: postgres === undefined ? null : firstLine(join(postgres, "postgres"), "--version"),
    nginx: versionOf("nginx", "-v"),
    blackbox_exporter: versionOf("prometheus-blackbox-exporter", "--version"),
    wrk: versionOf("wrk", "-v"),
  };
}

function versionOf(program: string, flag: string): string | null {
  const path = findProgram(program);
  return path === undefined ? null : firstLine(path, flag);
}

function firstLine(program: string, ...args: readonly string[]): string | null {
  const { stdout, stderr, error } = spawnSync(program, args, { encoding: "utf8" });
  if (error) return null;
  const [line = ""] = `${stdout}${stderr}`.trim().split("\n");
  return /\d+\.\d+[\w.-]*/.exec(line)?.[0] ?? line;
}
