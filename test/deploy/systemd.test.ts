// The units of deploy/systemd: what systemd reports about them, and whether they fit the program.
import { spawnSync } from "node:child_process";
import {
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { STOP_DEADLINE_MS } from "../../src/compose/process.ts";
import { loadConfig } from "../../src/config/config.ts";
import { V8_OPTIONS } from "../support/process.ts";
import { findProgram } from "../support/programs.ts";

const UNITS = "deploy/systemd";
/** systemd's exposure level, times ten: 20 is the upper end of what it calls OK. */
const MAX_EXPOSURE = 20;

const folder = mkdtempSync(join(tmpdir(), "sonde-units-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const services = readdirSync(UNITS).filter((name) => name.endsWith(".service"));

describe.each(services)("%s", (name) => {
  const unit = readFileSync(join(UNITS, name), "utf8");
  const values = (key: string): string[] =>
    [...unit.matchAll(new RegExp(`^${key}=(.*)$`, "gm"))].map(([, value = ""]) => value);

  it("is valid and confines its process", () => {
    const analyze = findProgram("systemd-analyze");
    if (analyze === undefined)
      throw new Error("systemd-analyze is not installed: apt-get install systemd");
    // The program is not installed here.
    const path = join(folder, name.replace("@", "@paris"));
    writeFileSync(path, unit.replace(/^ExecStart=.*$/m, "ExecStart=/bin/true"));
    const run = (...args: string[]) => spawnSync(analyze, [...args, path], { encoding: "utf8" });
    // Without the option, an unknown key is only a warning.
    const verified = run("verify", "--man=no", "--recursive-errors=yes");
    expect([verified.status, verified.stderr]).toEqual([0, ""]);
    const security = run("security", "--offline=true", `--threshold=${MAX_EXPOSURE}`);
    expect(security.status, security.stdout).toBe(0);
    // V8 could not compile code.
    expect(values("MemoryDenyWriteExecute")).toEqual([]);
  });

  it("shares its user, settings and data folder with the doctor of docs/doctor.md", () => {
    const doctor = [...readFileSync("docs/doctor.md", "utf8").matchAll(/^systemd-run (.*?)^```/gms)]
      .map(([, words = ""]) => words)
      .find((words) => words.includes(`--uid=${values("User")[0]} `));
    const named = (text: string) => text.replaceAll("%S", "/var/lib").replaceAll("%i", "paris");
    const environment = values("EnvironmentFile").map((file) => `EnvironmentFile=${file}`);
    const pairs = values("Environment").filter((pair) => /^SONDE_(?:DATA_DIR|ROLES)=/.test(pair));
    expect(pairs).toHaveLength(2);
    for (const word of [...environment, ...pairs]) expect(doctor).toContain(named(word));
  });

  it("runs the program with settings that it knows, and gives it time to stop", () => {
    const [node = "", ...words] = (values("ExecStart")[0] ?? "").split(" ");
    const main = words.at(-2) ?? "";
    for (const path of [node, main])
      expect([path, existsSync(path.replace("/opt/sonde/", ""))]).toEqual([path, true]);
    expect(words).toEqual([...V8_OPTIONS, main, "serve"]);
    const settings = values("Environment").map((pair) =>
      pair.replaceAll("%i", "paris").split("=", 2),
    );
    const { NODE_COMPILE_CACHE, ...env } = Object.fromEntries(settings) as Record<string, string>;
    expect(NODE_COMPILE_CACHE).toBeDefined();
    const { roles } = loadConfig({
      ...env,
      SONDE_NATS_URL: "nats://nats:4222",
      SONDE_LOCATION_KEY: "00".repeat(32),
    });
    expect(roles.length).toBeGreaterThan(0);
    const [stopSeconds] = values("TimeoutStopSec").map(Number);
    expect(stopSeconds).toBeGreaterThan(STOP_DEADLINE_MS / 1000);
    expect(values("Restart")).toEqual(["always"]);
  });
});

it("the units run a Node that `npm prune --omit=dev` leaves", () => {
  const [, installed = ""] =
    /^(.*node_modules\/[^/]+)/.exec(realpathSync("node_modules/.bin/node")) ?? [];
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly dev?: true }>>;
  };
  const path = `node_modules/${basename(installed)}`;
  expect(lock.packages[path]).toBeDefined();
  expect(lock.packages[path]?.dev).toBeUndefined();
});

it("documents quote the URLs in files that systemd and shells read", () => {
  const page = readFileSync("docs/deployment.md", "utf8");
  const [, settings = ""] = /> \/etc\/sonde\/hub\.env <<'END'\n(.*?)^END$/ms.exec(page) ?? [];
  const urls = settings.split("\n").filter((line) => line.includes("://"));
  expect(urls).toHaveLength(2);
  for (const line of urls) expect(line).toMatch(/^SONDE_\w+='[^']*'$/);
});

it("documents wait for the first key, which is written after the start", () => {
  const lines = ["docs/deployment.md", "docs/runbooks/first-install.md"].flatMap((file) =>
    [
      ...readFileSync(file, "utf8").matchAll(
        /^.*cat \/(?:data|var\/lib\/sonde\/hub)\/owner-key.*$/gm,
      ),
    ].flat(),
  );
  expect(lines).toHaveLength(3);
  expect(lines.filter((line) => !line.includes("until "))).toEqual([]);
});

it("documents read the logs of these units", () => {
  const commands = globSync("docs/**/*.md").flatMap((file) => [
    ...readFileSync(file, "utf8").matchAll(/journalctl (?:-\w*u|--unit) "?(sonde[\w@-]*)(?= )/g),
  ]);
  const named = commands.map(([, unit = ""]) => `${unit.replace(/@.*/, "@")}.service`);
  expect(named).not.toEqual([]);
  expect(named.filter((unit) => !services.includes(unit))).toEqual([]);
});

it("documents skip lines of a log that are not JSON, such as those of systemd", () => {
  const page = readFileSync("docs/logs.md", "utf8");
  const commands = page.match(/\bjq .*(?:sonde\.log|`)/g) ?? [];
  expect(commands.length).toBeGreaterThan(2);
  expect(commands.filter((command) => !command.includes("'fromjson?"))).toEqual([]);
});
