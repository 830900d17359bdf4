// One side of a comparison of calls, in its own process on the measured core: shared code would be
// optimized for neither side.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { fileURLToPath } from "node:url";
import { Agent, request } from "undici";
import { parseEgressAllow } from "../../src/net/egress.ts";
import { createHttpCaller } from "../../src/agent/http/http-call.ts";
import { prepareRun } from "../../src/agent/prepare-run.ts";
import { makeRun } from "../../src/agent/run-tick.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { forkChild, stopChild } from "./children.ts";
import { inParallel } from "./load.ts";
import { tickFor } from "./tick.ts";
import { cpuMs } from "./usage.ts";

export const CONCURRENCY = 100;

export type Side = "bare" | "agent";

export interface Measured {
  /** CPU milliseconds, user and system, per call. */
  readonly cpu: number;
  /** Calls a second. */
  readonly rate: number;
}

export interface Caller extends AsyncDisposable {
  measure(calls: number): Promise<Measured>;
}

/** Measures `make`, which makes calls, by the CPU time of the process. */
export async function measureCalls(
  pid: number,
  calls: number,
  make: () => Promise<unknown>,
): Promise<Measured> {
  const [cpuBefore, started] = [cpuMs(pid), performance.now()];
  await make();
  const seconds = (performance.now() - started) / 1000;
  return { cpu: (cpuMs(pid) - cpuBefore) / calls, rate: calls / seconds };
}

/** `authority`: a file with the trusted certificate. */
export function startCaller(side: Side, url: string, authority: string): Caller {
  const child = forkChild(fileURLToPath(import.meta.url), [side, url, authority], "measured");
  return {
    measure: (calls) =>
      measureCalls(child.pid ?? 0, calls, async () => {
        child.send(calls);
        await once(child, "message");
      }),
    [Symbol.asyncDispose]: () => stopChild(child),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [side, url = "", authority = ""] = process.argv.slice(2);
  const secureContext = createSecureContext({ ca: readFileSync(authority) });
  const call = side === "agent" ? agentCall(url, secureContext) : bareCall(url, secureContext);
  for (;;) {
    const [calls] = (await once(process, "message")) as [number];
    await inParallel(Array.from({ length: calls }), CONCURRENCY, call);
    process.send?.("done");
  }
}

type Context = ReturnType<typeof createSecureContext>;

function bareCall(url: string, secureContext: Context): () => Promise<void> {
  const dispatcher = new Agent({
    connections: null,
    connect: { secureContext, maxCachedSessions: 0 },
  });
  return async () => {
    const { body } = await request(url, { dispatcher, reset: true });
    await body.dump();
  };
}

function agentCall(url: string, secureContext: Context): () => Promise<void> {
  const clock = systemClock;
  const settings = {
    clock,
    log: createLogger("silent"),
    caller: createHttpCaller({ clock, egress: parseEgressAllow(["127.0.0.1"]), secureContext }),
    reporter: { locationId: "local", agentId: "bench" },
    version: "bench",
  };
  const control = { beforeNext: () => Promise.resolve(), chore: () => Promise.resolve() };
  return async () => {
    const run = prepareRun(settings, tickFor(url, "run"));
    const { results } = await makeRun(settings, run, control);
    if (results[0]?.meta.result !== "COMPLETE")
      throw new Error(results[0]?.meta.message ?? "failed");
  };
}
