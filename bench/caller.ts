// One side of the comparison, in its own process: shared code would be optimized for neither side.
import { fork } from "node:child_process";
import { once } from "node:events";
import { createSecureContext } from "node:tls";
import { fileURLToPath } from "node:url";
import { Agent, request } from "undici";
import { parseEgressAllow } from "../src/net/egress.ts";
import { createHttpCaller } from "../src/agent/http/http-call.ts";
import { runTick } from "../src/agent/run-tick.ts";
import { systemClock } from "../src/runtime/clock.ts";
import { createLogger } from "../src/runtime/logger.ts";
import { tickFor } from "./tick.ts";

export const CONCURRENCY = 100;

export type Side = "bare" | "agent";

export interface Caller {
  /** CPU milliseconds, user and system, per call. */
  measure(calls: number): Promise<number>;
  stop(): Promise<void>;
}

/** `authority`: the trusted certificate, in PEM. */
export function startCaller(side: Side, url: string, authority: string): Caller {
  const child = fork(fileURLToPath(import.meta.url), ["call", side, url], {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: "" },
  });
  child.send(authority);
  return {
    async measure(calls) {
      child.send(calls);
      const [answer] = (await once(child, "message")) as [number];
      return answer;
    },
    async stop() {
      child.disconnect();
      await once(child, "exit");
    },
  };
}

if (process.argv[2] === "call") await serve(process.argv[3], process.argv[4]);

async function serve(side: string | undefined, url = ""): Promise<void> {
  process.once("disconnect", () => process.exit());
  const [authority] = (await once(process, "message")) as [string];
  const secureContext = createSecureContext({ ca: authority });
  const call = side === "agent" ? agentCall(url, secureContext) : bareCall(url, secureContext);
  for (;;) {
    const [calls] = (await once(process, "message")) as [number];
    process.send?.(await measure(call, calls));
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
    caller: createHttpCaller({
      clock,
      egress: parseEgressAllow(["127.0.0.1"]),
      secureContext,
    }),
    reporter: { locationId: "local", agentId: "bench" },
    version: "bench",
  };
  return async () => {
    const { results } = await runTick(settings, tickFor(url, "run"));
    if (results[0]?.meta.result !== "COMPLETE")
      throw new Error(results[0]?.meta.message ?? "failed");
  };
}

async function measure(call: () => Promise<void>, calls: number): Promise<number> {
  const before = process.cpuUsage();
  let left = calls;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await call();
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / calls;
}
