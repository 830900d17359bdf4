// Output is complete, or the exit code reports that it is not.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  constants,
  openSync,
  readFileSync,
  readSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { stripVTControlCharacters } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { findProgram } from "../support/programs.ts";
import { MAIN, makeFolder, runSonde, startSonde } from "../support/process.ts";

it("output reaches a slow reader in full", async () => {
  using folder = makeFolder();
  const options = { folder: folder.path };
  await runSonde(["migrate"], options);
  // More than a pipe holds.
  const entries = 5000;
  const database = new DatabaseSync(join(folder.dataDir, "sonde.db"));
  database.exec(`with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${entries})
    insert into audit (id, time, actor, action, kind, object_id, fields)
      select printf('%06d', n), n, 'test', 'create', 'call', n, '[]' from numbers`);
  database.close();
  await using sonde = startSonde(["audit", "list", "--limit", String(entries)], options);
  expect(await sonde.exited).toEqual({ code: 0, signal: null });
  expect(sonde.stdout().trimEnd().split("\n")).toHaveLength(entries);
});

it("output that cannot be written is a failure, since a new key would be lost", async () => {
  using folder = makeFolder();
  await runSonde(["migrate"], { folder: folder.path });
  const child = spawn(process.execPath, [MAIN, "keys", "create"], {
    env: { PATH: process.env["PATH"], SONDE_DATA_DIR: folder.dataDir },
    stdio: ["ignore", openSync("/dev/full", "w"), "pipe"],
  });
  const exited = once(child, "exit");
  expect(await text(child.stderr as NodeJS.ReadableStream)).toBe(
    "sonde: cannot write to stdout (ENOSPC: no space left on device, write)\n",
  );
  expect(await exited).toEqual([1, null]);
});

/** Of a service in the folder, on free ports. */
const envOf = ({ dataDir }: ReturnType<typeof makeFolder>) => ({
  PATH: process.env["PATH"],
  SONDE_PORT: "0",
  SONDE_OPS_PORT: "0",
  SONDE_DATA_DIR: dataDir,
});

it("the service keeps running without a reader, and stops normally", async () => {
  using folder = makeFolder();
  const child = spawn(process.execPath, [MAIN, "serve"], {
    env: envOf(folder),
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const exited = once(child, "exit");
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  child.stdout.destroy();
  const { port } = JSON.parse(line.toString().split("\n")[0] ?? "") as {
    readonly port: number;
  };
  const ready = (): Promise<number> =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(({ status }) => status);
  await expect.poll(ready).toBe(200);
  child.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
});

/** A pipe of which a test has both ends; nothing waits. */
function openPipe(path: string) {
  execFileSync("mkfifo", [path]);
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  onTestFinished(() => closeSync(fd));
  const buffer = Buffer.alloc(4096);
  const attempt = (work: () => number): number => {
    try {
      return work();
    } catch {
      return 0; // EAGAIN
    }
  };
  return {
    read: (): string =>
      buffer.toString(
        "utf8",
        0,
        attempt(() => readSync(fd, buffer)),
      ),
    fill(): void {
      for (const size of [buffer.length, 1])
        while (attempt(() => writeSync(fd, buffer, 0, size)) > 0);
    },
  };
}

it("a reader that has stalled does not keep the service from ending", async () => {
  using folder = makeFolder();
  const path = join(folder.path, "stdout");
  const pipe = openPipe(path);
  const stdout = openSync(path, "w");
  const child = spawn(process.execPath, [MAIN, "serve"], {
    env: envOf(folder),
    stdio: ["ignore", stdout, "inherit"],
  });
  closeSync(stdout);
  onTestFinished(() => void child.kill("SIGKILL"));
  const exited = once(child, "exit");
  let shown = "";
  await expect.poll(() => (shown += pipe.read())).toMatch(/curl [^]*calls\//);
  pipe.fill();
  child.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
});

const SERVE = `${process.execPath} ${MAIN} serve`;

/** Starts the service on a terminal. */
function serveOnTerminal(env: Readonly<Record<string, string>>, command = `exec ${SERVE}`) {
  const child = spawn(findProgram("script") ?? "script", ["-qfec", command, "/dev/null"], {
    env: {
      PATH: process.env["PATH"],
      TERM: "xterm-256color",
      SONDE_PORT: "0",
      SONDE_OPS_PORT: "0",
      ...env,
    },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let shown = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (shown += text));
  onTestFinished(() => void child.kill("SIGKILL"));
  return {
    shown: () => stripVTControlCharacters(shown),
    type: (text: string): void => void child.stdin.write(text),
    closeTerminal: (): void => void child.kill("SIGKILL"),
    exited: once(child, "exit"),
  };
}

const [CTRL_C, CTRL_S, CTRL_Q] = ["\u0003", "\u0013", "\u0011"] as const;

it("the log is for people on a terminal, and a paused terminal blocks nothing", async () => {
  using folder = makeFolder();
  const { shown, type, exited } = serveOnTerminal({
    SONDE_DATA_DIR: folder.dataDir,
    SONDE_LOG_LEVEL: "debug",
  });
  await expect.poll(shown, { timeout: 30_000 }).toContain("scheduler lease taken");
  await expect.poll(shown).toMatch(/Sonde is at +\S+\r\n/);
  const [first, ...lines] = shown().split("\r\n");
  expect(first).toMatch(/^\d\d:\d\d:\d\d {2}INFO: sonde {6}ops server listening {2}host=127/);
  expect(lines.filter((line) => /[{}]/.test(line))).toEqual([]);

  const [, api] = /Sonde is at +(\S+)/.exec(shown()) ?? [];
  type(CTRL_S);
  let answered = 0;
  const ask = async () => {
    await fetch(`${api}api/2/nothing`, { method: "HEAD" }); // writes a log line
    return (answered += 1);
  };
  // The missing line is the only sign that the terminal has paused.
  await expect.poll(async () => (await ask()) - shown().split("request answered").length).toBe(5);
  type(CTRL_Q);
  await expect.poll(() => shown().split("request answered").length - 1).toBe(answered);
  type(CTRL_C);
  expect(await exited).toEqual([0, null]);
  expect(shown()).toMatch(/INFO: sonde {6}stopped\r\n$/);
});

it("a closed terminal stops the service, and is no failure", async () => {
  using folder = makeFolder();
  const code = join(folder.path, "code");
  writeFileSync(code, "");
  const { shown, closeTerminal } = serveOnTerminal(
    { SONDE_DATA_DIR: folder.dataDir },
    // Its shell passes the signal on, as all do.
    `trap 'kill -HUP $!' HUP; ${SERVE} & wait; wait $!; echo $? > ${code}`,
  );
  await expect.poll(shown, { timeout: 30_000 }).toContain("scheduler lease taken");
  closeTerminal();
  await expect.poll(() => readFileSync(code, "utf8")).toBe("0\n");
});
