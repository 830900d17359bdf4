// `sonde status`: live on a real terminal, which it leaves unchanged, and plain in a pipe.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { linesOf } from "../../src/status/screen.ts";
import { freePort } from "../support/free-port.ts";
import { COMPILED_CODE, MAIN, makeFolder, runSonde, startSonde } from "../support/process.ts";
import { findProgram } from "../support/programs.ts";
import { until } from "../support/until.ts";

const ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l";
const HOME = "\x1b[H";

/** Returns the lines of the latest complete frame. */
const linesDrawn = (output: string): string[] =>
  (output.split(HOME).findLast((frame) => frame.endsWith("\x1b[J")) ?? "")
    .replaceAll("\x1b[K", "")
    .replace("\x1b[J", "")
    .split(/\r+\n/);

it("shows a demo live, fits the terminal, ends at Ctrl-C, and prints once in a pipe", async () => {
  const script = findProgram("script");
  if (script === undefined) throw new Error("script is not installed: apt-get install bsdutils");
  using folder = makeFolder();
  const settings = { SONDE_DATA_DIR: folder.dataDir, SONDE_OPS_PORT: String(await freePort()) };
  await using sonde = startSonde(["serve", "--demo"], { folder: folder.path, env: settings });
  await sonde.ready();

  // The first beat comes within a second of the start.
  const piped = await until(async () => {
    const printed = await runSonde(["status"], { folder: folder.path, env: settings });
    expect(printed.stdout).toMatch(/^scheduler +leads; slot \d\d:\d\d is /m);
    return printed;
  }, 500);
  expect(piped).toMatchObject({ code: 0, stderr: "" });
  expect(piped.stdout).not.toContain("\x1b");
  expect(piped.stdout).toMatch(/^process +ready$/m);
  expect(piped.stdout).toMatch(/^LOCATION +DEPLOYMENTS +ONLINE +OFFLINE/m);
  expect(piped.stdout).toMatch(/^local +\d+ +1 +0 /m);

  const device = join(folder.path, "tty");
  const command = `stty cols 70 rows 24; tty > ${device}; exec ${process.execPath} ${MAIN} status`;
  const terminal = spawn(
    script,
    ["--quiet", "--return", "--flush", "--command", command, "/dev/null"],
    {
      cwd: folder.path,
      env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: COMPILED_CODE, ...settings },
      stdio: ["pipe", "pipe", "inherit"],
    },
  );
  let output = "";
  terminal.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  await until(() => expect(linesDrawn(output)).toContain("process    ready"));
  expect(output.startsWith(ENTER)).toBe(true);
  const first = linesDrawn(output)[0];
  await until(() => expect(linesDrawn(output)[0], "refreshed").not.toBe(first));
  expect(Math.max(...linesDrawn(output).map(({ length }) => length))).toBeLessThanOrEqual(70);

  await until(() => expect(existsSync(device)).toBe(true));
  execFileSync("stty", ["-F", readFileSync(device, "utf8").trim(), "cols", "40", "rows", "6"]);
  await until(() => expect(linesDrawn(output)).toHaveLength(5));
  expect(Math.max(...linesDrawn(output).map(({ length }) => length))).toBeLessThanOrEqual(40);

  const ended = once(terminal, "exit");
  terminal.stdin.write("\x03");
  expect(await ended).toEqual([0, null]);
  expect(output.endsWith(LEAVE)).toBe(true);
}, 120_000);

it("reports what it cannot reach, and escapes control characters", async () => {
  using folder = makeFolder();
  const settings = { SONDE_DATA_DIR: folder.dataDir, SONDE_OPS_PORT: String(await freePort()) };
  const { code, stdout } = await runSonde(["status", "--once"], { env: settings });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^process +no answer from http:.*ECONNREFUSED/m);
  expect(stdout).toMatch(/^database +there is no database .*start `sonde serve`/m);
  expect(existsSync(folder.dataDir)).toBe(false);

  const process = { readiness: "ready", agent: undefined };
  const failing = {
    call_id: "c1",
    name: "\x1b[2Jcleared",
    location_id: "paris",
    result: "CONNECTION_ERROR" as const,
    message: "a\r\nb",
    count: 2,
  };
  const service = { lease: undefined, runs: [], pending: [], locations: [], failing: [failing] };
  const lines = linesOf({ version: "1.0.0", roles: ["api"], now: 0, process, service });
  expect(lines.at(-1)).toBe("  2 × CONNECTION_ERROR  ?[2Jcleared at paris: a??b");
});

it("says on which day a scheduler last opened slots", () => {
  const cursor = Date.parse("2026-11-26T14:49:00Z");
  const lease = { name: "scheduler", holder: "gone", fence: 1, expires_at: cursor, cursor };
  const service = { lease, runs: [], pending: [], locations: [], failing: [] };
  const process = { readiness: "no answer", agent: undefined };
  const now = cursor + 3 * 86_400_000;
  const lines = linesOf({ version: "1", roles: ["scheduler"], now, process, service });
  expect(lines).toContain("scheduler  none leads; slots are open up to 2026-11-26T14:49:00Z");
});

it.each([
  [undefined, "not measured yet"],
  [0, "right"],
  [2, "2 s behind"],
  [-2, "2 s ahead"],
])("shows the clock of an agent whose offset is %s s as %s", (clockOffset, shown) => {
  const agent = { inFlight: 0, held: 0, spooled: 0, clockOffset };
  const process = { readiness: "ready", agent };
  const lines = linesOf({ version: "1", roles: ["agent"], now: 0, process, service: undefined });
  expect(lines.at(-1)).toBe(
    `agent here 0 in flight, 0 held, 0 reports in the spool, clock ${shown}`,
  );
});
