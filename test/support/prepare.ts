// Gets the servers and the browser that the tests start: with apt where it may, else by saying what
// to install.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { findProgram, searchPath } from "./programs.ts";

interface Requirement {
  readonly what: string;
  readonly debianPackage: string;
  readonly isPresent: () => boolean;
}

const POSTGRES_VERSIONS = "/usr/lib/postgresql";

function hasPostgres(): boolean {
  const versions = existsSync(POSTGRES_VERSIONS) ? readdirSync(POSTGRES_VERSIONS) : [];
  return versions
    .map((version) => `${POSTGRES_VERSIONS}/${version}/bin`)
    .concat(searchPath())
    .some((folder) => ["initdb", "postgres"].every((name) => findProgram(name, [folder])));
}

const REQUIREMENTS: readonly Requirement[] = [
  {
    what: "nats-server 2.9 or later",
    debianPackage: "nats-server",
    isPresent: () => findProgram("nats-server") !== undefined,
  },
  {
    what: "the PostgreSQL server, 15 or later (initdb, postgres)",
    debianPackage: "postgresql",
    isPresent: hasPostgres,
  },
  {
    what: "Chromium (chromium)",
    debianPackage: "chromium",
    isPresent: () => findProgram("chromium") !== undefined,
  },
];

// Another apt may be at work on a machine that has just been started, and a server of packages not
// answer at once.
const PATIENTLY = ["-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3"];

const say = (line: string): unknown => process.stderr.write(`${line}\n`);

const stillMissing = (): Requirement[] => REQUIREMENTS.filter(({ isPresent }) => !isPresent());

/** What went wrong, or undefined. */
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
  say(`Installing what the tests start: ${packages.join(" ")}`);
  const options = ["-y", "-qq", "--no-install-recommends"];
  // One of the machine's sources may be out of reach, and none of ours.
  const failures = [runApt("update", "-qq"), runApt("install", ...options, ...packages)];
  for (const failure of failures) if (failure !== undefined) say(failure);
}

const packagesOf = (missing: readonly Requirement[]): string[] =>
  missing.map(({ debianPackage }) => debianPackage);

const mayInstall = process.getuid?.() === 0 && findProgram("apt-get") !== undefined;
if (mayInstall && stillMissing().length > 0) install(packagesOf(stillMissing()));

const missing = stillMissing();
if (missing.length > 0) {
  say("The tests need programs that are not installed:");
  for (const { what } of missing) say(`  ${what}`);
  say("On Debian or Ubuntu:");
  say(`  sudo apt-get install --no-install-recommends ${packagesOf(missing).join(" ")}`);
  process.exitCode = 1;
}
