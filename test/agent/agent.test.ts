import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createAgent } from "../../src/agent/agent.ts";
import type { AgentSettings } from "../../src/agent/agent.ts";
import { createAgentMetrics } from "../../src/agent/metrics.ts";
import type { Bus } from "../../src/bus/bus.ts";
import { createInProcessBus } from "../../src/bus/in-process.ts";
import { unavailable } from "../../src/model/errors.ts";
import type { Heartbeat } from "../../src/model/heartbeat.ts";
import type { ReportedResult, RunReport } from "../../src/model/result.ts";
import { startOf } from "../../src/model/tick.ts";
import type { Tick } from "../../src/model/tick.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { createRegistry } from "../../src/runtime/metrics.ts";
import { parseEgressAllow } from "../../src/net/egress.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { track } from "../support/no-leftovers.ts";
import { makeFolder } from "../support/process.ts";
import { startTarget } from "../support/target-server.ts";
import { newCall, newTick, newWorkflow } from "./calling.ts";

const NOW = Date.UTC(2026, 9, 1, 12, 0, 0);

function newSystem() {
  const clock = createManualClock(NOW);
  const lines: string[] = [];
  const log = createLogger("info", { write: (line) => void lines.push(line) });
  const bus = createInProcessBus({ clock, log });
  const reports: RunReport[] = [];
  void bus.consumeReports(async (batch) => void reports.push(...batch));
  onTestFinished(() => bus.close());
  return {
    clock,
    bus,
    log,
    lines,
    reports,
    results: (): ReportedResult[] => reports.flatMap(({ results }) => results),
  };
}

type System = Pick<ReturnType<typeof newSystem>, "bus" | "clock" | "log">;

const newAgent = (
  { bus, clock, log }: System,
  settings: Partial<AgentSettings> = {},
  registry = createRegistry({ version: "test" }),
) =>
  createAgent({
    bus,
    clock,
    log,
    metrics: createAgentMetrics(registry),
    locationId: "here",
    agentId: "agent-1",
    version: "1.2.3",
    egress: parseEgressAllow(["127.0.0.1"]),
    concurrency: 500,
    ...settings,
  });

async function startAgent(system: System, settings: Partial<AgentSettings> = {}) {
  const registry = createRegistry({ version: "test" });
  const agent = newAgent(system, settings, registry);
  const untrack = track(settings.agentId ?? "agent-1");
  await agent.start();
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= agent.stop().finally(untrack));
  onTestFinished(stop);
  return { stop, registry };
}

/** The bus, but unavailable for reports until `back` is called. */
function unreachable(bus: Bus): Bus & { back(): void; refused(): number } {
  let [away, refused] = [true, 0];
  return {
    ...bus,
    async publishReports(reports) {
      if (!away) return bus.publishReports(reports);
      refused += 1;
      throw unavailable("the bus did not answer in 5 s");
    },
    status: () => ({ ...bus.status(), connected: !away }),
    back: () => void (away = false),
    refused: () => refused,
  };
}

const tickFor = (url: string, id = "run-1", times: Parameters<typeof newTick>[1] = {}): Tick =>
  newTick(newCall({ url }, { result_id: id }), {
    trigger_time: NOW,
    due_time: NOW,
    latest_start: NOW + 30_000,
    ...times,
  });

/** A target that answers when `release` is called. */
async function startHeldTarget() {
  const held: (() => void)[] = [];
  const target = await startTarget((_, response) => {
    held.push(() => response.end("ok"));
  });
  return Object.assign(target, {
    release: () => {
      for (const answer of held.splice(0)) answer();
    },
  });
}

describe("an agent", () => {
  it("runs a tick and reports its result", async () => {
    await using target = await startTarget();
    const system = newSystem();
    await startAgent(system);
    await system.bus.publishTicks([tickFor(target.url)]);
    await expect.poll(() => system.reports).toHaveLength(1);
    expect(system.reports[0]).toMatchObject({
      run_id: "run-1",
      location_id: "here",
      agent_id: "agent-1",
      results: [
        {
          id: "run-1",
          meta: {
            result: "COMPLETE",
            result_category: "PASS",
            message: null,
            http_code: 200,
            start_time: "2026-10-01T12:00:00.000000Z",
            is_late: false,
          },
        },
      ],
    });
  });

  it("holds a tick until it is due", async () => {
    await using target = await startTarget();
    const system = newSystem();
    await startAgent(system);
    await system.bus.publishTicks([tickFor(target.url, "run-1", { due_time: NOW + 12_000 })]);
    await expect.poll(() => system.clock.waiting()).toEqual([NOW + 12_000]);
    await system.clock.advance(11_999);
    expect(target.connections()).toBe(0);
    await system.clock.advance(1);
    await expect.poll(() => system.results()).toHaveLength(1);
    expect(system.results()[0]?.meta.start_time).toBe("2026-10-01T12:00:12.000000Z");
  });

  it("reports a tick that arrives too late as MISSED", async () => {
    await using target = await startTarget();
    const system = newSystem();
    await startAgent(system);
    await system.bus.publishTicks([
      tickFor(target.url, "run-1", {
        due_time: NOW - 42_500,
        latest_start: NOW - 12_500,
      }),
    ]);
    await expect.poll(() => system.results()).toHaveLength(1);
    expect(system.results()[0]).toMatchObject({
      meta: {
        result: "MISSED",
        result_category: null,
        start_time: null,
        message: "started_late: the agent got the run 42.5 s after the due time; the limit is 30 s",
      },
      timing: { total: null, tcp: null },
      request: { url: target.url, method: "GET", headers: [], body: null },
    });
    expect(target.connections()).toBe(0);
  });

  it("counts the wait for a place as lateness", async () => {
    await using target = await startHeldTarget();
    const system = newSystem();
    await startAgent(system, { concurrency: 1 });
    await system.bus.publishTicks([tickFor(target.url, "run-1"), tickFor(target.url, "run-2")]);
    await expect.poll(() => target.requests).toHaveLength(1);
    await system.clock.advance(30_001);
    target.release();
    await expect.poll(() => system.results()).toHaveLength(2);
    expect(
      system
        .results()
        .map(({ meta: { result, message } }) => message?.replace(/ready .*/, "ready …") ?? result)
        .toSorted(),
    ).toEqual(["COMPLETE", "started_late: the agent was ready …"]);
    expect(target.connections()).toBe(1);
  });

  it("keeps at most `concurrency` runs in flight", async () => {
    await using target = await startHeldTarget();
    const system = newSystem();
    await startAgent(system, { concurrency: 50 });
    const ids = Array.from({ length: 51 }, (_, at) => `run-${at}`);
    await system.bus.publishTicks(ids.map((id) => tickFor(target.url, id)));
    const requested = () => system.clock.advance(100).then(() => target.requests.length);
    await expect.poll(requested).toBe(50);
    expect(target.connections()).toBe(50);
    target.release();
    await expect.poll(() => target.requests.length).toBe(51);
    target.release();
    await expect.poll(() => system.results().length).toBe(51);
  });

  it(
    "keeps places free for others while one owner's runs are slow",
    { tags: ["slow"] },
    async () => {
      await using slow = await startHeldTarget();
      await using fast = await startTarget();
      const system = newSystem();
      await startAgent(system, { concurrency: 20 });
      const eve = Array.from({ length: 60 }, (_, at) => tickFor(slow.url, `eve-${at}`));
      const times = { due_time: NOW + 1000 };
      const bob = Array.from({ length: 30 }, (_, at) => tickFor(fast.url, `bob-${at}`, times));
      await system.bus.publishTicks([
        ...bob.map((tick) => ({ ...tick, owner_hash: "bob" })),
        ...eve.map((tick) => ({ ...tick, owner_hash: "eve" })),
      ]);
      await expect.poll(() => system.clock.advance(5).then(() => slow.requests)).toHaveLength(16);
      await system.clock.advance(1000);
      await expect
        .poll(() => system.clock.advance(5).then(() => system.results()))
        .toHaveLength(30);
      expect(system.results().every(({ meta }) => meta.result === "COMPLETE")).toBe(true);
      expect(slow.requests.length).toBeGreaterThanOrEqual(16);
      slow.release();
      await expect
        .poll(async () => {
          slow.release();
          await system.clock.advance(5);
          return system.results();
        })
        .toHaveLength(90);
    },
  );

  it("frees the place of a workflow between its calls", async () => {
    await using target = await startTarget();
    const system = newSystem();
    await startAgent(system, { concurrency: 1 });
    const call = newCall({ url: target.url });
    const workflow: Tick = {
      ...tickFor(target.url, "workflow-run"),
      calls: [0, 1].map((n) => ({ ...call, result_id: `step-${n}` })),
      workflow: newWorkflow({ between_calls_delay: 60 }),
    };
    await system.bus.publishTicks([workflow]);
    await expect.poll(() => system.clock.waiting()).toEqual([NOW + 60_000]);
    await system.bus.publishTicks([tickFor(target.url, "run-1")]);
    await expect.poll(() => system.results()).toHaveLength(1);
    await system.clock.advance(60_000);
    await expect.poll(() => system.reports).toHaveLength(2);
    expect(system.results().map(({ id }) => id)).toEqual(["run-1", "step-0", "step-1"]);
    expect(system.reports[1]?.workflow?.meta.result).toBe("COMPLETE");
  });

  it("does not delay a fast target behind a slow one", async () => {
    await using slow = await startHeldTarget();
    await using fast = await startTarget();
    const system = newSystem();
    await startAgent(system);
    await system.bus.publishTicks([tickFor(slow.url, "run-1"), tickFor(fast.url, "run-2")]);
    await expect.poll(() => slow.requests).toHaveLength(1);
    await system.clock.advance(5);
    await expect.poll(() => system.results().map(({ id }) => id)).toEqual(["run-2"]);
    slow.release();
    await expect.poll(() => system.results()).toHaveLength(2);
  });

  it("loses no report while the bus is down", async () => {
    await using target = await startTarget();
    const system = newSystem();
    const bus = unreachable(system.bus);
    await startAgent({ ...system, bus });
    const ids = Array.from({ length: 120 }, (_, at) => `run-${at}`);
    await bus.publishTicks(ids.map((id) => tickFor(target.url, id)));
    await expect.poll(() => system.clock.advance(20).then(() => bus.refused())).toBeGreaterThan(3);
    expect(system.reports).toEqual([]);
    bus.back();
    await expect
      .poll(() =>
        system
          .results()
          .map(({ id }) => id)
          .toSorted(),
      )
      .toEqual(ids.toSorted());
  });

  it("answers a redelivered tick from the spool after a restart, and delivers the spool", async () => {
    await using target = await startTarget();
    using folder = makeFolder();
    const spoolPath = join(folder.path, "spool.db");
    const system = newSystem();
    const bus = unreachable(system.bus);
    const first = await startAgent({ ...system, bus }, { spoolPath });
    const ids = ["run-1", "run-2", "run-3"];
    const ticks = ids.map((id, n) => tickFor(target.url, id, { due_time: NOW - n * 1000 }));
    await bus.publishTicks(ticks);
    await expect.poll(() => first.registry.metrics()).toContain("sonde_agent_spooled_reports 3");
    const stopping = performance.now();
    await first.stop();
    // Reports that wait for the bus are abandoned after ten seconds.
    expect(performance.now() - stopping).toBeLessThan(5000);

    const agentId = "agent-2";
    const next = await startAgent({ ...system, bus }, { spoolPath, agentId });
    expect(await next.registry.metrics()).toContain("sonde_agent_spooled_reports 3");
    // Sent in another message, since the bus would drop a duplicate.
    await bus.publishTicks([ticks[0] as Tick]);
    await expect
      .poll(() => next.registry.metrics())
      .toContain("sonde_agent_repeated_ticks_total 1");
    bus.back();
    await expect
      .poll(() => system.reports.map(({ run_id }) => run_id))
      .toEqual(expect.arrayContaining(ids));
    await bus.publishTicks(ticks.slice(0, 2));
    await expect
      .poll(() => next.registry.metrics())
      .toContain("sonde_agent_repeated_ticks_total 3");
    await next.stop();
    expect(new Set(system.reports.map(({ agent_id }) => agent_id))).toEqual(new Set(["agent-1"]));
    expect(target.requests).toHaveLength(3);
  });

  it("closes its spool when it fails to start", async () => {
    using folder = makeFolder();
    const spoolPath = join(folder.path, "spool.db");
    const system = newSystem();
    const bus: Bus = {
      ...system.bus,
      async consumeTicks() {
        throw unavailable("there is no stream");
      },
    };
    const agent = newAgent({ ...system, bus }, { spoolPath });
    await expect(agent.start()).rejects.toThrow("there is no stream");
    const { stop } = await startAgent(system, { spoolPath });
    expect(system.lines.join("")).not.toContain("spool unavailable");
    await stop();
  });

  it("sends heartbeats", async () => {
    const system = newSystem();
    const heard: Heartbeat[] = [];
    await system.bus.consumeHeartbeats(async (heartbeat) => void heard.push(heartbeat));
    await startAgent(system);
    await expect
      .poll(() => heard)
      .toEqual([
        {
          agent_id: "agent-1",
          location_id: "here",
          version: "1.2.3",
          protocol: 2,
          state: "online",
          capacity: 500,
          in_flight: 0,
          held: 0,
          sent: NOW,
        },
      ]);
  });

  it("logs a line for a failed call, without its URL, and a summary of all", async () => {
    await using target = await startTarget(({ url }, response) => {
      response.writeHead(url === "/" ? 200 : 500).end();
    });
    const system = newSystem();
    const { stop } = await startAgent(system);
    await system.bus.publishTicks([
      tickFor(`${target.url}/?_token=hush`),
      tickFor(`${target.url}/`, "run-2"),
    ]);
    await expect.poll(() => system.results()).toHaveLength(2);
    await stop();
    const lines = system.lines.map((line) => JSON.parse(line) as unknown);
    expect(lines).toEqual([
      expect.objectContaining({ msg: "agent started", agent_id: "agent-1", pid: process.pid }),
      expect.objectContaining({
        msg: "call finished",
        level: "info",
        call_id: "call",
        call_name: "A call",
        deployment_id: null,
        result_id: "run-1",
        result: "HTTP_SERVER_ERROR",
        http_code: 500,
        lateness_ms: 0,
        location_id: "here",
      }),
      expect.objectContaining({
        msg: "runs since the last summary",
        level: "info",
        calls: 2,
        passed: 1,
        warnings: 0,
        failed: 1,
        not_made: 0,
        missed: 0,
        max_lateness_ms: 0,
        location_id: "here",
      }),
    ]);
    expect(system.lines.join()).not.toMatch(/hush|127\.0\.0\.1/);
  });

  it("tells failed calls from those that were not made", async () => {
    await using target = await startTarget((_, response) => {
      response.writeHead(500).end();
    });
    const system = newSystem();
    const { stop } = await startAgent(system);
    const call = newCall({ url: target.url });
    const workflow = newWorkflow({ stop_on_failure: true });
    const calls = [1, 2, 3].map((n) => ({ ...call, result_id: `call-${n}` }));
    await system.bus.publishTicks([{ ...tickFor(target.url), calls, workflow }]);
    await expect.poll(() => system.results()).toHaveLength(3);
    await stop();
    expect(JSON.parse(system.lines.at(-1) ?? "")).toMatchObject({
      msg: "runs since the last summary",
      calls: 3,
      passed: 0,
      failed: 1,
      not_made: 2,
      missed: 0,
    });
  });

  it("counts its runs", async () => {
    await using target = await startTarget();
    const system = newSystem();
    const { registry } = await startAgent(system);
    await system.bus.publishTicks([tickFor(target.url)]);
    await expect.poll(() => system.results()).toHaveLength(1);
    const metrics = await registry.metrics();
    expect(metrics).toContain('sonde_agent_runs_total{result="COMPLETE"} 1');
    expect(metrics).toContain("sonde_agent_in_flight_runs 0");
    expect(metrics).toContain("sonde_agent_start_lateness_seconds_count 1");
    expect(metrics).toContain("sonde_agent_timing_uncertainty_seconds_count 1");
    expect(metrics).toContain("sonde_agent_uncertain_results_total 0");
    expect(metrics).toContain("sonde_agent_reports_unpublished 0");
  });

  it("counts the lateness of a run from its place in the second", async () => {
    await using target = await startTarget();
    const system = newSystem();
    const { registry } = await startAgent(system);
    const tick = { ...tickFor(target.url), deployment_id: "deployment" };
    const place = startOf(tick) - tick.due_time;
    expect(place).toBeGreaterThan(100);
    await system.bus.publishTicks([tick]);
    await expect.poll(() => registry.metrics()).toContain("sonde_agent_held_ticks 1");
    await system.clock.advance(place);
    await expect.poll(() => system.results()).toHaveLength(1);
    expect(await registry.metrics()).toContain("sonde_agent_start_lateness_seconds_sum 0\n");
  });
});

describe("an agent that stops", () => {
  it("gives back ticks that have not started, for another agent to run", async () => {
    await using target = await startTarget();
    const system = newSystem();
    const { stop } = await startAgent(system);
    await system.bus.publishTicks([tickFor(target.url, "run-1", { due_time: NOW + 5000 })]);
    await expect.poll(() => system.clock.waiting()).toHaveLength(1);
    await stop();
    await startAgent(system, { agentId: "agent-2" });
    await system.clock.advance(5000);
    await expect
      .poll(async () => {
        await system.clock.advance(1000); // redelivery takes a while
        return system.reports.map(({ agent_id }) => agent_id);
      })
      .toEqual(["agent-2"]);
    expect(target.connections()).toBe(1);
  });

  it("finishes and reports the runs in flight", async () => {
    await using target = await startHeldTarget();
    const system = newSystem();
    const { stop } = await startAgent(system);
    await system.bus.publishTicks([tickFor(target.url)]);
    await expect.poll(() => target.requests).toHaveLength(1);
    const stopped = stop();
    target.release();
    await stopped;
    await expect
      .poll(() => system.results())
      .toMatchObject([{ id: "run-1", meta: { result: "COMPLETE" } }]);
  });
});
