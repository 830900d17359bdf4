// Generates load with wrk, from the core that is not measured.
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { findProgram } from "../../test/support/programs.ts";
import { makeFolder, startChild } from "./children.ts";
import { API_KEY } from "./database.ts";
import { cpuMs } from "./usage.ts";

export const NO_WRK = "wrk: apt-get install wrk";

export const hasWrk = (): boolean => findProgram("wrk") !== undefined;

export interface Load {
  readonly url: string;
  /** Posted as JSON; requests are GETs if absent. */
  readonly body?: string;
  readonly connections: number;
  readonly seconds: number;
  /** Milliseconds that each connection waits before a request. */
  readonly pause: number;
}

export interface Loaded {
  /** Requests per second. */
  readonly rate: number;
  /** CPU milliseconds of the server per request. */
  readonly cpu: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

/** Throws if the server answers with anything but success. `pid` is the server's. */
export async function load(
  pid: number,
  { url, body, connections, seconds, pause }: Load,
): Promise<Loaded> {
  const script = join(makeFolder(), "load.lua");
  writeFileSync(
    script,
    `wrk.headers["authorization"] = "Bearer ${API_KEY}"
     ${body === undefined ? "" : `wrk.method = "POST" wrk.body = [[${body}]] wrk.headers["content-type"] = "application/json"`}
     ${pause === 0 ? "" : `delay = function() return ${pause} end`}
     done = function(summary, latency)
       local failed = summary.errors.status + summary.errors.connect + summary.errors.timeout
       print(string.format('{"requests": %d, "us": %d, "failed": %d, "p50": %d, "p99": %d}',
         summary.requests, summary.duration, failed,
         latency:percentile(50), latency:percentile(99)))
     end`,
  );
  const before = cpuMs(pid);
  const child = startChild(["wrk", "-t1", `-c${connections}`, `-d${seconds}s`, "-s", script, url], {
    core: "other",
    stdout: "pipe",
  });
  let output = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (output += text));
  await once(child, "close");
  const used = cpuMs(pid) - before;
  const line = /^\{.*\}$/m.exec(output)?.[0];
  if (line === undefined) throw new Error(`wrk ended without a summary: ${output}`);
  const { requests, us, failed, p50, p99 } = JSON.parse(line) as Record<string, number>;
  if (failed !== 0) throw new Error(`${failed} requests to ${url} failed`);
  if (requests === 0) throw new Error(`no request to ${url} was answered`);
  return {
    rate: (requests ?? 0) / ((us ?? 0) / 1e6),
    cpu: used / (requests ?? 0),
    p50: (p50 ?? 0) / 1000,
    p99: (p99 ?? 0) / 1000,
  };
}
