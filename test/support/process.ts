// Runs the real program as a child process, on free ports and in its own data folder, and always
// cleans up.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { killAtExit } from "./kill-at-exit.ts";
import { track } from "./no-leftovers.ts";
import { findProgram } from "./programs.ts";

/** The entry point of the program as users start it; `built-program.ts` builds it. */
export const MAIN = fileURLToPath(new URL("../../dist/main.js", import.meta.url));
/**
 * Shared by all processes of the tests: a start with compiled code takes little more than half the
 * time.
 */
export const COMPILED_CODE = fileURLToPath(
  new URL("../../node_modules/.cache/sonde", import.meta.url),
);
const PACKAGE = new URL("../../package.json", import.meta.url);
const { scripts } = JSON.parse(readFileSync(PACKAGE, "utf8")) as {
  readonly scripts: { readonly start: string };
};
/** The options that `npm start` gives to Node. */
export const V8_OPTIONS: readonly string[] = scripts.start
  .split(" ")
  .filter((word) => word.startsWith("--"));
/**
 * Without the release of memory after a start, and with fewer garbage collections during it: these
 * take a tenth of a start's time each.
 */
const TESTED_OPTIONS = [
  ...V8_OPTIONS.filter((option) => option !== "--expose-gc"),
  "--min-semi-space-size=16",
];
const START_WITHIN_MS = 30_000;
const STOP_WITHIN_MS = 20_000;
/** A command may work for longer than a service takes to start. */
const END_WITHIN_MS = 100_000;
const LOG_WITHIN_MS = 200_000;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export interface ProcessOptions {
  /** Settings. By default the ports are free ones and the data folder is inside `folder`. */
  readonly env?: Readonly<Record<string, string>>;
  /** The working directory, to share data between processes. Default: a temporary one. */
  readonly folder?: string;
  /** The entry point of another version of the program. Default: that of this one. */
  readonly main?: string;
  /** Maximum size of each file it writes; beyond that, writes fail as on a full disk. */
  readonly maxFileBytes?: number;
}

export interface SondeProcess extends AsyncDisposable {
  readonly pid: number;
  readonly dataDir: string;
  /** The API's URL without a path; rejects if the process ends before the API listens. */
  api(): Promise<string>;
  ops(): Promise<string>;
  /** Resolves when /readyz reports ready. */
  ready(): Promise<void>;
  /** Resolves with the first matching log line, past or future; rejects if none comes in time. */
  logged(fits: (line: LogLine) => boolean): Promise<LogLine>;
  log(): readonly LogLine[];
  stdout(): string;
  stderr(): string;
  readonly exited: Promise<Exit>;
  signal(signal: NodeJS.Signals): void;
  /** Sends SIGTERM, then SIGKILL after a timeout. */
  stop(): Promise<Exit>;
  /** Sends SIGKILL, like a crash. */
  kill9(): Promise<Exit>;
}

/** A folder for several processes on the same data. */
export interface TestFolder extends Disposable {
  readonly path: string;
  readonly dataDir: string;
}

export function makeFolder(): TestFolder {
  const path = mkdtempSync(join(tmpdir(), "sonde-process-"));
  return {
    path,
    dataDir: join(path, "data"),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

export function startSonde(
  args: readonly string[],
  { env = {}, folder, main = MAIN, maxFileBytes }: ProcessOptions = {},
): SondeProcess {
  const own = folder === undefined ? makeFolder() : undefined;
  const cwd = folder ?? own?.path ?? "";
  const dataDir = env["SONDE_DATA_DIR"] ?? join(cwd, "data");
  const [program = "", ...words] = [
    ...(maxFileBytes === undefined ? [] : limitFiles(maxFileBytes)),
    process.execPath,
    ...TESTED_OPTIONS,
    main,
    ...args,
  ];
  const child = killAtExit(
    spawn(program, words, {
      cwd,
      // Drops this process's own settings.
      env: {
        PATH: process.env["PATH"],
        NODE_COMPILE_CACHE: COMPILED_CODE,
        SONDE_PORT: "0",
        SONDE_OPS_PORT: "0",
        SONDE_DATA_DIR: dataDir,
        ...env,
      },
      stdio: ["ignore", "pipe", "pipe"],
    }),
  );
  const untrack = track(`sonde ${args.join(" ")} (${child.pid})`);
  const output = watchOutput(child);
  const exited = new Promise<Exit>((resolve) => {
    child.once("close", (code, signal) => {
      untrack();
      output.end(describe(args, { code, signal }, output.stderr()));
      resolve({ code, signal });
    });
  });

  const end = async (signal: NodeJS.Signals): Promise<Exit> => {
    child.kill(signal);
    const force = setTimeout(() => child.kill("SIGKILL"), STOP_WITHIN_MS);
    try {
      return await exited;
    } finally {
      clearTimeout(force);
    }
  };
  const api = async (): Promise<string> => {
    const line = await output.line(({ msg }) => msg === "api listening");
    return String(line["address"]);
  };
  const ops = async (): Promise<string> => {
    const line = await output.line(({ msg }) => msg === "ops server listening");
    return `http://${String(line["host"])}:${String(line["port"])}`;
  };
  return {
    pid: child.pid as number,
    dataDir,
    api,
    ops,
    ready: async () => untilReady(await ops(), exited),
    logged: (fits) => output.line(fits),
    log: output.lines,
    stdout: output.stdout,
    stderr: output.stderr,
    exited,
    signal: (signal) => void child.kill(signal),
    stop: () => end("SIGTERM"),
    kill9: () => end("SIGKILL"),
    async [Symbol.asyncDispose]() {
      await end("SIGTERM");
      own?.[Symbol.dispose]();
    },
  };
}

/** Returns the command prefix that limits the size of each file a program writes. */
export function limitFiles(bytes: number): [string, string] {
  const prlimit = findProgram("prlimit");
  if (prlimit === undefined)
    throw new Error("prlimit is not installed: apt-get install util-linux");
  return [prlimit, `--fsize=${bytes}`];
}

export interface Ended extends Exit {
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end. If it takes too long, kills it, and the result has a `signal`. */
export async function runSonde(
  args: readonly string[],
  options: ProcessOptions = {},
): Promise<Ended> {
  await using sonde = startSonde(args, options);
  const overdue = setTimeout(() => sonde.signal("SIGKILL"), END_WITHIN_MS);
  const exit = await sonde.exited;
  clearTimeout(overdue);
  return { ...exit, stdout: sonde.stdout(), stderr: sonde.stderr() };
}

/** Expects `text` to be one line, and returns it without its line break. */
export function oneLine(text: string): string {
  expect(text.trimEnd().split("\n")).toHaveLength(1);
  return text.trimEnd();
}

interface Output {
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly lines: () => readonly LogLine[];
  line(fits: (line: LogLine) => boolean): Promise<LogLine>;
  /** Rejects all waits for a line, with the reason. */
  end(why: string): void;
}

interface Waiting {
  readonly fits: (line: LogLine) => boolean;
  readonly resolve: (line: LogLine) => void;
  readonly reject: (why: Error) => void;
}

function watchOutput({ stdout, stderr }: ChildProcess): Output {
  const printed: string[] = [];
  const errors: string[] = [];
  const lines: LogLine[] = [];
  const waiting = new Set<Waiting>();
  let ended: string | undefined;
  stderr?.setEncoding("utf8").on("data", (text: string) => errors.push(text));
  if (stdout)
    createInterface({ input: stdout }).on("line", (text) => {
      printed.push(`${text}\n`);
      if (!text.startsWith("{")) return;
      const line = JSON.parse(text) as LogLine;
      lines.push(line);
      for (const each of waiting) if (each.fits(line) && waiting.delete(each)) each.resolve(line);
    });
  return {
    stdout: () => printed.join(""),
    stderr: () => errors.join(""),
    lines: () => lines,
    line(fits) {
      const known = lines.find(fits);
      if (known) return Promise.resolve(known);
      return new Promise((resolve, reject) => {
        if (ended !== undefined) return reject(new Error(ended));
        const wait = { fits, resolve, reject };
        waiting.add(wait);
        const overdue = (): void => {
          if (waiting.delete(wait))
            reject(new Error(`no such line: ${fits.toString()}\n${printed.join("")}`));
        };
        setTimeout(overdue, LOG_WITHIN_MS).unref();
      });
    },
    end(why) {
      ended = why;
      for (const { reject } of waiting) reject(new Error(why));
      waiting.clear();
    },
  };
}

const describe = (args: readonly string[], { code, signal }: Exit, stderr: string): string =>
  `sonde ${args.join(" ")} ended with ${signal ?? `exit code ${code}`}: ${stderr}`;

async function untilReady(opsUrl: string, exited: Promise<Exit>): Promise<void> {
  let ended = false;
  void exited.then(() => (ended = true));
  const deadline = performance.now() + START_WITHIN_MS;
  for (let last = "no answer"; ;) {
    if (ended || performance.now() > deadline)
      throw new Error(`${opsUrl}/readyz: ${ended ? "process ended" : last}`);
    try {
      const response = await fetch(`${opsUrl}/readyz`);
      last = await response.text();
      if (response.ok) return;
    } catch (cause) {
      last = String(cause);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
