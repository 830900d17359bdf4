// Checks the README's first command as a user would: starts the demo with npm, reads a result, a
// statistic and the history over HTTP, sends Ctrl-C and expects a clean exit.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";

const START_WITHIN_MS = 30_000;
const RESULT_WITHIN_MS = 90_000;

interface List<T> {
  readonly results: readonly T[];
}

const child = spawn("npm", ["start", "--", "--demo"], {
  stdio: ["ignore", "pipe", "inherit"],
  detached: true,
});
// Signals the whole process group, as a terminal does at Ctrl-C.
const signalAll = (signal: NodeJS.Signals): boolean => process.kill(-(child.pid as number), signal);
const exited = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
const lines = createInterface({ input: child.stdout });
const { promise: api, resolve: found } = Promise.withResolvers<string>();
lines.on("line", (line) => {
  console.log(line);
  const url = /Sonde is at +(\S+)/.exec(line)?.[1];
  if (url) found(url);
});

try {
  const base = await within(api, START_WITHIN_MS, "the API did not start");
  const key = readFileSync(
    join(process.env["SONDE_DATA_DIR"] ?? ".sonde", "owner-key"),
    "utf8",
  ).trim();
  const get = async <T>(path: string): Promise<T> => {
    const response = await fetch(new URL(`api/2/${path}`, base), {
      headers: { authorization: `Bearer ${key}` },
    });
    if (!response.ok)
      throw new Error(`GET ${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as T;
  };
  const steady = await until(START_WITHIN_MS, "the demo's calls did not appear", async () => {
    const { results } = await get<List<{ id: string; meta: { name: string } }>>("calls/");
    return results.find(({ meta }) => meta.name === "Demo: steady")?.id;
  });
  await until(RESULT_WITHIN_MS, "no scheduled result arrived", async () => {
    const { results } = await get<List<{ meta: { trigger: string; result: string } }>>(
      `calls/${steady}/results/`,
    );
    return results.find(({ meta }) => meta.trigger === "SCHEDULE" && meta.result === "COMPLETE");
  });
  const { stat } = await get<{ stat: { count: number } | null }>(`calls/${steady}/stats/?kind=DAY`);
  if (!stat || stat.count < 1) throw new Error("the statistic omits the result");
  const ranked = await until(START_WITHIN_MS, "the history had no scores", async () => {
    const path = "insights/rank/?weekly=true";
    const { results } = await get<List<{ api_name: string; results: readonly unknown[] }>>(path);
    return results.find(({ results: weeks }) => weeks.length >= 7)?.api_name;
  });
  console.log(
    `read a scheduled result and a statistic of ${stat.count} calls, and the weekly scores of ${ranked}; sending Ctrl-C`,
  );
} finally {
  signalAll("SIGINT");
}
const [code, signal] = await within(exited, START_WITHIN_MS, "it did not exit after Ctrl-C").catch(
  (cause: unknown) => {
    signalAll("SIGKILL");
    throw cause;
  },
);
if (code !== 0) throw new Error(`it exited with ${code ?? signal} after Ctrl-C, not with 0`);
console.log("exited cleanly");

async function within<T>(work: Promise<T>, ms: number, otherwise: string): Promise<T> {
  const expired = delay(ms, undefined, { ref: false }).then(() => {
    throw new Error(`${otherwise} within ${ms / 1000} s`);
  });
  return Promise.race([work, expired]);
}

async function until<T>(
  ms: number,
  otherwise: string,
  find: () => Promise<T | undefined>,
): Promise<T> {
  const deadline = performance.now() + ms;
  for (;;) {
    const found = await find();
    if (found !== undefined) return found;
    if (performance.now() > deadline) throw new Error(`${otherwise} within ${ms / 1000} s`);
    await delay(500);
  }
}
