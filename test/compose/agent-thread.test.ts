// Agents in threads of their own, on the in-process bus.
// @module-tag slow
import { expect, it } from "vitest";
import { createInProcessBus } from "../../src/bus/in-process.ts";
import { startAgentThread } from "../../src/compose/agent-thread.ts";
import { loadConfig } from "../../src/config/config.ts";
import type { RunReport } from "../../src/model/result.ts";
import { createOwnNetwork } from "../../src/net/own-network.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createRegistry, renderMetrics } from "../../src/runtime/metrics.ts";
import { aTick, quiet } from "../bus/buses.ts";
import { track } from "../support/no-leftovers.ts";
import { startThreadTarget } from "../support/thread-target.ts";

async function startAgents(agents: number, authority: string) {
  await using stack = new AsyncDisposableStack();
  stack.defer(track("agents' threads"));
  const bus = createInProcessBus({ clock: systemClock, log: quiet });
  stack.defer(() => bus.close());
  const reports: RunReport[] = [];
  await bus.consumeReports(async (batch) => void reports.push(...batch));
  const own = await createOwnNetwork({
    clock: systemClock,
    ports: [],
    servers: [],
    announced: () => [],
  });
  const config = loadConfig({ SONDE_LOG_LEVEL: "silent" });
  const threads = Array.from({ length: agents }, () => startAgentThread(config, quiet));
  stack.defer(async () => {
    await Promise.all(threads.map((thread) => thread.end()));
  });
  for (const [at, thread] of threads.entries()) {
    const agentId = `agent-${at + 1}`;
    const locationKeys = [new Uint8Array(32)] as const;
    const order = { locationId: "local", agentId, concurrency: 500, egressAllow: [authority] };
    const agent = thread.service({ ...order, locationKeys }, bus, own);
    await agent.start();
    stack.defer(() => agent.stop());
  }
  const running = stack.move();
  return {
    bus,
    own,
    reports,
    async metrics(): Promise<string> {
      const snapshots = await Promise.all(threads.map((thread) => thread.metrics()));
      return renderMetrics(createRegistry({ version: "1.2.3" }), snapshots);
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Returns a tick for a call to the target, due in `dueMs` milliseconds. */
function tickTo(authority: string, dueMs: number) {
  const due_time = Date.now() + dueMs;
  const tick = aTick({ due_time, latest_start: due_time + 60_000 });
  const [call] = tick.calls;
  if (call) Object.assign(call.request, { url: `http://${authority}/` });
  return tick;
}

it("an agent calls while the main thread is blocked", async () => {
  await using target = await startThreadTarget();
  await using system = await startAgents(1, target.authority);
  await system.bus.publishTicks([tickTo(target.authority, 500)]);
  await expect.poll(() => system.metrics()).toContain("sonde_agent_held_ticks 1");
  // Nothing else runs on this thread until the target has got the request.
  expect(Atomics.wait(target.requests, 0, 0, 30_000)).not.toBe("timed-out");
  await expect.poll(() => system.reports.length).toBe(1);
  expect(system.reports[0]?.results[0]?.meta.result).toBe("COMPLETE");
});

it("agents share the work of their location, and the process shows their metrics as one", async () => {
  await using target = await startThreadTarget();
  await using system = await startAgents(2, target.authority);
  const ticks = Array.from({ length: 20 }, () => tickTo(target.authority, 0));
  for (const tick of ticks) await system.bus.publishTicks([tick]);
  await expect.poll(() => system.reports.length).toBe(20);
  expect(new Set(system.reports.map(({ run_id }) => run_id)).size).toBe(20);
  expect(new Set(system.reports.map(({ agent_id }) => agent_id))).toEqual(
    new Set(["agent-1", "agent-2"]),
  );
  const lines = (await system.metrics()).split("\n");
  expect(lines.filter((line) => line.startsWith("sonde_agent_runs_total"))).toEqual([
    'sonde_agent_runs_total{result="MISSED"} 0',
    'sonde_agent_runs_total{result="COMPLETE"} 20',
  ]);
  for (const name of ["sonde_build_info", "process_start_time_seconds"])
    expect(lines.filter((line) => line.startsWith(`# TYPE ${name} `))).toHaveLength(1);
});

it("an agent stops calling a port once its process listens on it", async () => {
  await using target = await startThreadTarget();
  await using system = await startAgents(1, "127.0.0.0/8");
  const run = async () => {
    await system.bus.publishTicks([tickTo(target.authority, 0)]);
    const before = system.reports.length;
    await expect.poll(() => system.reports.length).toBe(before + 1);
    return system.reports.at(-1)?.results[0]?.meta.result;
  };
  expect(await run()).toBe("COMPLETE");
  system.own.listensOn(Number(target.authority.split(":")[1]));
  expect(await run()).toBe("UNABLE_TO_RUN");
});
