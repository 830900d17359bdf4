// The agent's own CPU for a call, from tick to report, beside that of a bare undici request over a fresh connection.
// Both call the same target, in turn, in one process; the target has a process of its own. Goal: at most 1.5 times.
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { Agent, request } from "undici";
import { parseEgressAllow } from "../src/agent/egress.ts";
import { createHttpCaller } from "../src/agent/http-call.ts";
import { createTickRunner } from "../src/agent/run-tick.ts";
import type { Tick } from "../src/model/tick.ts";
import { systemClock } from "../src/runtime/clock.ts";
import { createLogger } from "../src/runtime/logger.ts";
import { show, spreadOf } from "./statistics.ts";

const CALLS = 3000;
const CONCURRENCY = 100;
const ROUNDS = 7;

if (process.argv[2] === "target") serveTarget();
else await compare();

function serveTarget(): void {
  const body = JSON.stringify({ text: "x".repeat(120) });
  const server = createServer((_, response) => {
    response.setHeader("content-type", "application/json");
    response.end(body);
  });
  server.listen(0, "127.0.0.1", () =>
    process.send?.((server.address() as AddressInfo).port),
  );
  process.once("disconnect", () => process.exit());
}

async function compare(): Promise<void> {
  const target = fork(fileURLToPath(import.meta.url), ["target"]);
  const [port] = (await once(target, "message")) as [number];
  const url = `http://127.0.0.1:${port}/`;
  const clock = systemClock;
  const runner = createTickRunner({
    clock,
    log: createLogger("silent"),
    caller: createHttpCaller({
      clock,
      egress: parseEgressAllow([`127.0.0.1:${port}`]),
    }),
    reporter: { locationId: "local", agentId: "bench" },
    version: "bench",
  });
  const dispatcher = new Agent({ connections: null });
  const bare = async (): Promise<void> => {
    const { body } = await request(url, { dispatcher, reset: true });
    await body.dump();
  };
  const agent = async (): Promise<void> => {
    const report = await runner.run(tickFor(url));
    if (report.results[0]?.meta.result !== "COMPLETE")
      throw new Error(report.results[0]?.meta.message ?? "failed");
  };
  await measure(bare);
  await measure(agent);
  const [bares, agents, ratios]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    const [b, a] = [await measure(bare), await measure(agent)];
    bares.push(b);
    agents.push(a);
    ratios.push(a / b);
  }
  console.log(
    "CPU milliseconds for a call over plain HTTP: minimum, median, maximum",
  );
  for (const [name, values] of Object.entries({
    "bare undici": bares,
    agent: agents,
    ratio: ratios,
  })) {
    const { min, median, max } = spreadOf(values);
    console.log(
      `${name.padEnd(12)} ${show(min)}  ${show(median)}  ${show(max)}`,
    );
  }
  await dispatcher.close();
  target.disconnect();
}

/** Milliseconds of CPU, user and system, for each call. */
async function measure(call: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  let left = CALLS;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await call();
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / CALLS;
}

function tickFor(url: string): Tick {
  const now = systemClock.now();
  return {
    result_id: "result",
    trigger: "SCHEDULE",
    trigger_time: now,
    due_time: now,
    latest_start: now + 30_000,
    deployment_id: "deployment",
    location_id: "local",
    context: {},
    calls: [
      {
        result_id: "result",
        call_id: "call",
        name: "bench",
        domain: "127.0.0.1",
        tags: [],
        request: {
          method: "GET",
          url,
          parameters: [],
          headers: [],
          body: null,
        },
      },
    ],
  };
}
