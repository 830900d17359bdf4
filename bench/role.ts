// The whole agent in its own process, from ticks to reports on a real nats-server.
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createAgent } from "../src/agent/agent.ts";
import { createAgentMetrics } from "../src/agent/metrics.ts";
import type { Bus } from "../src/bus/bus.ts";
import { createNatsBus } from "../src/bus/nats/nats-bus.ts";
import { systemClock } from "../src/runtime/clock.ts";
import { createLogger } from "../src/runtime/logger.ts";
import { Registry } from "../src/runtime/metrics.ts";
import { parseEgressAllow } from "../src/net/egress.ts";
import { findProgram } from "../test/support/programs.ts";
import type { Caller } from "./caller.ts";
import { tickFor } from "./tick.ts";

const LOCATION = "local";
const TICKS_PER_MESSAGE = 50;

/** Undefined when nats-server is not installed. */
export async function startRole(url: string, concurrency: number): Promise<Caller | undefined> {
  const nats = await startNats();
  if (!nats) return undefined;
  const child = fork(fileURLToPath(import.meta.url), ["serve", nats.url, String(concurrency)]);
  await once(child, "message");
  const bus = await busOf(nats.url);
  const cpu = async (): Promise<number> => {
    child.send("cpu");
    const [answer] = (await once(child, "message")) as [number];
    return answer;
  };
  const runs = createRuns(bus, url);
  await runs.start();
  return {
    async measure(calls) {
      const before = await cpu();
      await runs.make(calls);
      return ((await cpu()) - before) / calls;
    },
    async stop() {
      child.disconnect();
      await once(child, "exit");
      await bus.close();
      nats.stop();
    },
  };
}

function createRuns(bus: Bus, url: string) {
  let made = 0;
  let left = 0;
  let onDone = (): void => undefined;
  return {
    start: () =>
      bus.consumeReports(async (reports) => {
        for (const { results } of reports)
          if (results[0]?.meta.result !== "COMPLETE")
            throw new Error(results[0]?.meta.message ?? "failed");
        left -= reports.length;
        if (left === 0) onDone();
      }),
    /** Resolves when every report has arrived. */
    async make(calls: number): Promise<void> {
      const done = new Promise<void>((resolve) => (onDone = resolve));
      left = calls;
      const ticks = Array.from({ length: calls }, () => tickFor(url, `run-${(made += 1)}`));
      while (ticks.length > 0) await bus.publishTicks(ticks.splice(0, TICKS_PER_MESSAGE));
      await done;
    },
  };
}

const busOf = (url: string): Promise<Bus> =>
  createNatsBus({
    servers: [url],
    name: "bench",
    clock: systemClock,
    log: createLogger("silent"),
  });

async function startNats() {
  const program = findProgram("nats-server");
  if (!program) return undefined;
  const store = mkdtempSync(join(tmpdir(), "sonde-bench-"));
  const server = spawn(program, ["-a", "127.0.0.1", "-p", "-1", "-js", "-sd", store], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let port = "";
  for await (const line of createInterface({ input: server.stderr })) {
    port = /client connections on 127\.0\.0\.1:(\d+)/.exec(line)?.[1] ?? port;
    if (line.includes("Server is ready")) break;
  }
  server.stderr.resume();
  return {
    url: `nats://127.0.0.1:${port}`,
    stop() {
      server.kill();
      server.once("exit", () => rmSync(store, { recursive: true, force: true }));
    },
  };
}

if (process.argv[2] === "serve" && process.argv[3] !== undefined)
  await serve(process.argv[3], Number(process.argv[4]));

async function serve(natsUrl: string, concurrency: number): Promise<void> {
  const bus = await busOf(natsUrl);
  const agent = createAgent({
    bus,
    clock: systemClock,
    log: createLogger("silent"),
    metrics: createAgentMetrics(new Registry()),
    locationId: LOCATION,
    agentId: "bench",
    version: "bench",
    egress: parseEgressAllow(["127.0.0.1"]),
    concurrency,
  });
  await agent.start();
  process.send?.(0);
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    process.send?.((user + system) / 1000);
  });
  process.once("disconnect", () => process.exit());
}
