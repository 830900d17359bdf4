// One side of a comparison of calls, in its own process on the measured core: code shared in one
// process would be optimized for neither side.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { Agent, request } from "undici";
import { parseEgressAllow } from "../../src/net/egress.ts";
import { createHttpCaller } from "../../src/agent/http/http-call.ts";
import { makeRun } from "../../src/agent/make-run.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { startAnswering } from "./children.ts";
import { evenly, inParallel, sendAt } from "./load.ts";
import { tickFor } from "./tick.ts";
import { cpuMs } from "./usage.ts";

export const CONCURRENCY = 100;

export type Side = "bare" | "agent";

export interface Measured {
  /** CPU milliseconds, user and system, per call. */
  readonly cpu: number;
  /** Calls per second. */
  readonly rate: number;
  /** What each call reported to have taken, in milliseconds, if it reports that. */
  readonly times?: readonly number[];
}

export interface Caller extends AsyncDisposable {
  measure(calls: number): Promise<Measured>;
}

export interface PacedCaller extends Caller {
  /** Spreads the calls evenly over `seconds`, as a schedule does, not `CONCURRENCY` at a time. */
  measureEvenly(calls: number, seconds: number): Promise<Measured>;
}

/** The calls of one measurement; `CONCURRENCY` at a time if `seconds` is absent. */
interface Order {
  readonly calls: number;
  readonly seconds?: number;
}

/** Runs `make`, which makes the calls, and measures the CPU time of the process `pid`. */
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

/** `authority`: a file with the certificate to trust. */
export function startCaller(side: Side, url: string, authority: string): PacedCaller {
  const child = startAnswering<"done">(import.meta.filename, side, url, authority);
  const measure = (order: Order): Promise<Measured> =>
    measureCalls(child.pid, order.calls, () => child.ask(order));
  return {
    measure: (calls) => measure({ calls }),
    measureEvenly: (calls, seconds) => measure({ calls, seconds }),
    [Symbol.asyncDispose]: child[Symbol.asyncDispose],
  };
}

if (import.meta.main) {
  const [side, url = "", authority = ""] = process.argv.slice(2);
  const ca = readFileSync(authority, "utf8");
  const call = side === "agent" ? agentCall(url, ca) : bareCall(url, ca);
  for (;;) {
    const [{ calls, seconds }] = (await once(process, "message")) as [Order];
    if (seconds === undefined) await inParallel(Array.from({ length: calls }), CONCURRENCY, call);
    else await sendAt(evenly(calls, seconds), call);
    process.send?.("done");
  }
}

function bareCall(url: string, ca: string): () => Promise<void> {
  const secureContext = createSecureContext({ ca });
  const dispatcher = new Agent({
    connections: null,
    connect: { secureContext, maxCachedSessions: 0 },
  });
  return async () => {
    const { body } = await request(url, { dispatcher, reset: true });
    await body.dump();
  };
}

function agentCall(url: string, ca: string): () => Promise<void> {
  const clock = systemClock;
  const settings = {
    clock,
    log: createLogger("silent"),
    caller: createHttpCaller({ clock, egress: parseEgressAllow(["127.0.0.1"]), ca }),
    reporter: { locationId: "local", agentId: "bench" },
    version: "bench",
  };
  const none = (): Promise<void> => Promise.resolve();
  const control = { pause: none, resume: none, chore: none };
  return async () => {
    const { results } = await makeRun(settings, tickFor(url, "run"), control);
    if (results[0]?.meta.result !== "COMPLETE")
      throw new Error(results[0]?.meta.message ?? "failed");
  };
}
