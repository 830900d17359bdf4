// From a call's definition to its statistics, through every role; the test moves the clock from
// slot to slot.
// @module-tag slow
import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PROTOCOL } from "../../src/model/agent.ts";
import type { HeartbeatAnswer } from "../../src/model/heartbeat.ts";
import { MINUTE_MS } from "../../src/model/slots.ts";
import type { PendingRun } from "../../src/store/records.ts";
import type { ListedResult } from "../support/client.ts";
import { aHeartbeat } from "../bus/buses.ts";
import { aReport } from "../support/runs.ts";
import { createShiftedClock } from "../support/shifted-clock.ts";
import { startStack } from "../support/stack.ts";
import type { Stack, StackOptions } from "../support/stack.ts";
import { startTarget } from "../support/target-server.ts";
import type { HttpTarget } from "../support/target-server.ts";

const SECOND = 1000;
const NOON = Date.UTC(2026, 9, 1, 12, 0, 0);
/** Between two slots, before the next one opens. */
const START = NOON + 30 * SECOND;

let target: HttpTarget;
beforeAll(async () => {
  target = await startTarget();
});
afterAll(() => target[Symbol.asyncDispose]());

const start = (
  options: Partial<
    Pick<StackOptions, "now" | "agents" | "agentClock" | "egressAllow" | "concurrency">
  > = {},
) => startStack({ now: START, egressAllow: [target.authority], ...options });

/** Beats ahead of the slot, as the scheduler does, and starts it. */
async function begin(stack: Stack, slot: number): Promise<void> {
  stack.clock.moveTo(slot - 10 * SECOND);
  await stack.beat();
  await stack.beat();
  stack.clock.moveTo(slot);
}

const minute = (n: number): number => NOON + n * MINUTE_MS;
const dueMinutes = (results: readonly ListedResult[]): number[] =>
  results.map(({ meta }) => (Date.parse(meta.due_time) - NOON) / MINUTE_MS);
const codes = (results: readonly ListedResult[]): string[] =>
  results.map(({ meta }) => meta.result);

/** Lets the slots of these minutes pass and the call's runs in them end. */
async function pass(
  stack: Stack,
  callId: string,
  minutes: readonly number[],
): Promise<readonly ListedResult[]> {
  for (const at of minutes) {
    await begin(stack, minute(at));
    await stack.client.ended(callId);
  }
  return stack.client.results(callId);
}

const deployed = async ({ client }: Stack): Promise<string> => {
  const call = await client.createCall(`${target.url}/${crypto.randomUUID()}`);
  await client.deploy(call);
  return call;
};

describe("a call deployed every minute", () => {
  it("has one result for each slot, and matching statistics", async () => {
    await using stack = await start();
    const call = await deployed(stack);
    const results = await pass(stack, call, [1, 2, 3, 4, 5]);
    expect(dueMinutes(results)).toEqual([1, 2, 3, 4, 5]);
    expect(new Set(codes(results))).toEqual(new Set(["COMPLETE"]));
    for (const { meta } of results) {
      expect(meta).toMatchObject({
        trigger: "SCHEDULE",
        trigger_time: meta.due_time,
        agent_id: "agent-1",
      });
      expect(Date.parse(meta.start_time ?? "") - Date.parse(meta.due_time)).toBeGreaterThanOrEqual(
        0,
      );
    }

    const { stats: raw } = await stack.client.send<{
      stats: {
        time: string;
        latency: number;
        http_code: number;
        content_length: number;
      }[];
    }>("GET", `/calls/${call}/stats/since?kind=RAW&time=2026-10-01T12:00:00Z`);
    expect(raw.map(({ time }) => time)).toEqual(results.map(({ meta }) => meta.start_time));
    expect(raw.map(({ http_code, content_length }) => [http_code, content_length])).toEqual(
      raw.map(() => [200, 2]),
    );
    const latencies = raw.map(({ latency }) => latency);
    const mean = latencies.reduce((sum, latency) => sum + latency, 0) / 5;
    for (const [kind, time] of [
      ["HOUR", "2026-10-01T12:00:00Z"],
      ["DAY", "2026-10-01T00:00:00Z"],
      ["MONTH", "2026-10-01T00:00:00Z"],
    ])
      expect(await stack.client.stat(call, `kind=${kind}&type=COMPLETE`)).toMatchObject({
        time,
        count: 5,
        max_latency: Math.max(...latencies),
        min_latency: Math.min(...latencies),
        avg_latency: expect.closeTo(mean, 9),
      });
  });

  it("counts the run at midnight in the day that begins then", async () => {
    const midnight = Date.UTC(2026, 9, 31, 24, 0, 0);
    await using stack = await start({ now: midnight - 90 * SECOND });
    const call = await stack.client.createCall(target.url);
    await stack.client.deploy(call);
    for (const slot of [midnight - MINUTE_MS, midnight]) {
      await begin(stack, slot);
      await stack.client.ended(call);
    }
    for (const [kind, day, hour] of [
      ["HOUR", "2026-10-31T23:30:00Z", "2026-11-01T00:30:00Z"],
      ["DAY", "2026-10-31", "2026-11-01"],
      ["MONTH", "2026-10-31", "2026-11-01"],
    ])
      for (const time of [day, hour])
        expect(await stack.client.stat(call, `kind=${kind}&time=${time}`)).toMatchObject({
          count: 1,
        });
  });

  it("runs at its new frequency from the first trigger more than 15 s after an update", async () => {
    await using stack = await start();
    const call = await deployed(stack);
    const [first] = await pass(stack, call, [1, 2]);
    stack.clock.moveTo(minute(2) + 50 * SECOND);
    await stack.client.send("PUT", `/deployments/${first?.meta.deployment_id}/`, {
      deployment: { frequency: 3 },
    });
    const results = await pass(stack, call, [3, 4, 5, 6, 7, 8, 9]);
    expect(dueMinutes(results)).toEqual([1, 2, 3, 6, 9]);
    expect(new Set(codes(results))).toEqual(new Set(["COMPLETE"]));
  });

  it("stops running when its deployment or the call itself is deleted", async () => {
    await using stack = await start();
    const [kept, removed] = [await deployed(stack), await deployed(stack)];
    const [first] = await pass(stack, kept, [1]);
    await stack.client.ended(removed);
    stack.clock.moveTo(minute(1) + 20 * SECOND);
    const before = target.requests.length;
    await stack.client.send("DELETE", `/deployments/${first?.meta.deployment_id}/`);
    await stack.client.send("DELETE", `/calls/${removed}/`);
    const other = await deployed(stack);
    expect(dueMinutes(await pass(stack, other, [2, 3]))).toEqual([2, 3]);
    expect(dueMinutes(await stack.client.ended(kept))).toEqual([1]);
    expect(target.requests).toHaveLength(before + 2);
  });
});

describe("a manual run", () => {
  it("has ended when a request with ?wait is answered", async () => {
    await using stack = await start();
    const call = await stack.client.createCall(target.url);
    const run = await stack.client.send<{ result_id: string }>(
      "POST",
      `/calls/${call}/run?wait=20`,
      {},
    );
    const result = await stack.client.send<ListedResult>("GET", `/results/${run.result_id}/`);
    expect(result.meta).toMatchObject({
      result: "COMPLETE",
      trigger: "MANUAL",
      deployment_id: null,
    });
    expect(await stack.client.stat(call, "kind=HOUR")).toMatchObject({
      count: 1,
    });
  });
});

describe("an agent with a wrong clock", () => {
  it.each([10, -10])(
    "off by %i minutes runs on time and reports in the hub's time",
    async (minutes) => {
      const agentClock = createShiftedClock(START + minutes * MINUTE_MS);
      await using stack = await start({ agentClock });
      const call = await stack.client.createCall(target.url);
      const ordered = stack.clock.now();
      await stack.client.send("POST", `/calls/${call}/run?wait=20`, {});
      const results = await stack.client.results(call);
      expect(codes(results)).toEqual(["COMPLETE"]);
      const started = Date.parse(results[0]?.meta.start_time ?? "");
      // The agent knows the hub's time within half a heartbeat's round trip.
      expect(started).toBeGreaterThan(ordered - SECOND);
      expect(started).toBeLessThan(stack.clock.now() + SECOND);
    },
  );
});

describe("the hub", () => {
  it("answers a heartbeat with its own time and lists the agent", async () => {
    await using stack = await start({ agents: 0 });
    const heartbeat = { ...aHeartbeat("local"), protocol: PROTOCOL };
    const before = stack.clock.now();
    let answer: HeartbeatAnswer | null = null;
    await expect
      .poll(async () => (answer = await stack.bus.sendHeartbeat(heartbeat)))
      .toEqual({ now: expect.any(Number) as number });
    const { now } = answer as unknown as HeartbeatAnswer;
    expect(now).toBeGreaterThanOrEqual(before);
    expect(now).toBeLessThanOrEqual(stack.clock.now());
    await expect
      .poll(() => stack.store.agents.list())
      .toMatchObject([{ agent_id: heartbeat.agent_id }]);
  });
});

describe("agents", () => {
  it("share the runs of their location, and execute each once", async () => {
    await using stack = await start({ agents: 2 });
    const call = await stack.client.createCall(target.url);
    const before = target.requests.length;
    for (let run_delay = 0; run_delay < 10; run_delay += 1)
      await stack.client.deploy(call, { run_delay });
    let results: readonly ListedResult[] = [];
    const makers = () => new Set(results.map(({ meta }) => meta.agent_id));
    // An agent that subscribes a moment later may find the first minute's runs taken.
    for (let at = 1; at <= 5 && makers().size < 2; at += 1) {
      await begin(stack, minute(at));
      await stack.beat();
      stack.clock.moveTo(minute(at) + 10 * SECOND);
      results = await stack.client.ended(call);
      expect(results).toHaveLength(10 * at);
    }
    expect(makers()).toEqual(new Set(["agent-1", "agent-2"]));
    expect(new Set(codes(results))).toEqual(new Set(["COMPLETE"]));
    expect(target.requests).toHaveLength(before + results.length);
  });

  it("may report a run twice: it counts once", async () => {
    await using stack = await start();
    const call = await deployed(stack);
    await pass(stack, call, [1, 2, 3]);
    const stat = await stack.client.stat(call, "kind=DAY&type=COMPLETE");
    const results = await stack.store.results.listOfCall(call, {
      after: "",
      limit: 10,
    });
    await stack.bus.publishReports(
      results.map((result) => ({
        run_id: result.id,
        location_id: result.meta.location_id,
        agent_id: result.meta.agent_id ?? "",
        results: [result],
      })),
    );
    await expect.poll(() => stack.outcomes("duplicate")).toBe(3);
    expect(await stack.client.stat(call, "kind=DAY&type=COMPLETE")).toEqual(stat);
    expect(await stack.client.ended(call)).toHaveLength(3);
  });
});

describe("an agent with 20 places", () => {
  /** Starts a target that answers nothing until it is released. */
  async function startSlowTarget() {
    const held = new Set<ServerResponse>();
    let isHolding = true;
    const slow = await startTarget((_, response) => {
      if (isHolding) held.add(response);
      else response.end();
    });
    const letGo = (): void => {
      isHolding = false;
      for (const response of held) response.end();
    };
    return Object.assign(slow, { letGo });
  }

  it("executes an owner's scheduled runs in time despite 60 slow manual runs of another", async () => {
    await using slow = await startSlowTarget();
    await using stack = await start({
      concurrency: 20,
      egressAllow: [target.authority, slow.authority],
    });
    const eve = await stack.clientOf("eve");
    const slowCall = await eve.createCall(slow.url);
    const calls: string[] = [];
    for (let n = 0; n < 15; n += 1) calls.push(await deployed(stack));
    for (let n = 0; n < 60; n += 1) await eve.send("POST", `/calls/${slowCall}/run`, {});
    await expect.poll(() => slow.requests.length).toBeGreaterThanOrEqual(8);
    for (const at of [1, 2]) {
      await begin(stack, minute(at));
      for (const call of calls) await stack.client.ended(call);
    }
    for (const call of calls) {
      const results = await stack.client.results(call);
      expect(codes(results)).toEqual(["COMPLETE", "COMPLETE"]);
    }
    expect(slow.requests.length).toBe(8);
    slow.letGo();
  });
});

describe("without an agent", () => {
  /** Returns a call, and its run of minute 1, which expired without being executed. */
  async function missOne(stack: Stack): Promise<{ call: string; run: PendingRun }> {
    const call = await stack.client.createCall(target.url);
    await stack.client.deploy(call);
    await begin(stack, minute(1));
    const [queued] = await stack.client.results(call);
    expect(queued?.meta.result).toBe("QUEUED");
    const run = (await stack.store.pendingRuns.get(queued?.id ?? "")) as PendingRun;
    stack.clock.moveTo(run.expires_at + SECOND);
    await stack.reconcile();
    return { call, run };
  }

  it("a run is MISSED with the reason, and counted only as that", async () => {
    await using stack = await start({ agents: 0 });
    const { call } = await missOne(stack);
    const [missed] = await stack.client.ended(call);
    expect(missed?.meta).toMatchObject({
      result: "MISSED",
      message:
        "no_agent: no agent had been seen at location 'local' for seven days, or the location was removed",
      start_time: null,
    });
    expect(await stack.client.send("GET", `/calls/${call}/stats/?kind=HOUR`)).toMatchObject({
      stat: null,
      adv_stat: { missed: 1, pass_percent: null },
    });
    expect(await stack.client.stat(call, "kind=DAY&type=MISSED")).toMatchObject({ count: 1 });
  });

  it("a late result replaces MISSED in every period", async () => {
    await using stack = await start({ agents: 0 });
    const { call, run } = await missOne(stack);
    await stack.bus.publishReports([aReport(run, { total: 250 })]);
    await expect.poll(() => stack.outcomes("late")).toBe(1);
    expect(codes(await stack.client.ended(call))).toEqual(["COMPLETE"]);
    for (const kind of ["HOUR", "DAY", "WEEK", "MONTH", "YEAR"])
      expect(await stack.client.send("GET", `/calls/${call}/stats/?kind=${kind}`)).toMatchObject({
        stat: { count: 1, max_latency: 250 },
        adv_stat: { missed: 0, pass_percent: 100 },
      });
    expect(await stack.client.stat(call, "kind=DAY&type=MISSED")).toBeNull();
  });
});
