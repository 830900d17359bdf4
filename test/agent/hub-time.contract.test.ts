// An agent on a machine with a wrong clock, corrected by the hub.
// @module-tag slow
import { describe, expect, it } from "vitest";
import { createAgent } from "../../src/agent/agent.ts";
import { authorizeAmazon } from "../../src/agent/authorize/amazon.ts";
import { signOAuth1 } from "../../src/agent/authorize/oauth1.ts";
import { createAgentMetrics } from "../../src/agent/metrics.ts";
import type { Authorization } from "../../src/model/authorization.ts";
import type { Heartbeat } from "../../src/model/heartbeat.ts";
import type { ReportedResult } from "../../src/model/result.ts";
import type { Tick } from "../../src/model/tick.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { createRegistry } from "../../src/runtime/metrics.ts";
import { parseEgressAllow } from "../../src/net/egress.ts";
import { ADAPTERS } from "../bus/buses.ts";
import type { Adapter } from "../bus/buses.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { track } from "../support/no-leftovers.ts";
import { startTarget } from "../support/target-server.ts";
import type { HttpTarget } from "../support/target-server.ts";
import { newAuthorization, newRequest, newToken, sent } from "./authorize/authorizing.ts";
import { newCall, newTick, newWorkflow } from "./calling.ts";

const NOW = Date.UTC(2026, 9, 1, 12, 0, 0);
const TEN_MINUTES = 600_000;
const WRONG_BY = [TEN_MINUTES, -TEN_MINUTES];

interface SystemOptions {
  /** Milliseconds by which the agent's machine is ahead of the hub; default 0. */
  readonly wrongBy?: number;
  /** Default true. */
  readonly hubAnswers?: boolean;
}

async function startSystem({ start }: Adapter, { wrongBy = 0, hubAnswers = true }: SystemOptions) {
  await using stack = new AsyncDisposableStack();
  const bus = await stack.use(await start()).join();
  const machine = createManualClock(NOW + wrongBy);
  const hubNow = (): number => NOW + machine.monotonic();
  const lines: string[] = [];
  const log = createLogger("info", { write: (line) => void lines.push(line) });
  const [heartbeats, results]: [Heartbeat[], ReportedResult[]] = [[], []];
  await bus.consumeHeartbeats(async (heartbeat, answer) => {
    heartbeats.push(heartbeat);
    if (hubAnswers) answer({ now: hubNow() });
  });
  await bus.consumeReports(async (batch) => {
    results.push(...batch.flatMap((report) => report.results));
  });
  const registry = createRegistry({ version: "test" });
  const agent = createAgent({
    bus,
    clock: machine,
    log,
    metrics: createAgentMetrics(registry),
    locationId: "here",
    agentId: "agent-1",
    version: "1.2.3",
    egress: parseEgressAllow(["127.0.0.1"]),
    concurrency: 500,
  });
  stack.defer(track("agent-1"));
  await agent.start();
  stack.defer(() => agent.stop());
  const running = stack.move();
  return {
    machine,
    bus,
    hubNow,
    heartbeats,
    results,
    /** The samples of the metric of its offset, in seconds. */
    offsets: async () =>
      Array.from(
        (await registry.metrics()).matchAll(/^sonde_agent_clock_offset_seconds (.*)$/gm),
        ([, offset]) => Number(offset),
      ),
    logged: () =>
      lines
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter(({ msg }) => /clock/.test(String(msg)))
        .map(({ level, msg, clock_offset_ms }) => [level, msg, clock_offset_ms]),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

const tickFor = (url: string, due_time: number, authorization?: Authorization): Tick =>
  newTick(
    newCall({ url }, { result_id: `run-${due_time}`, ...(authorization && { authorization }) }),
    { trigger_time: due_time, due_time, latest_start: due_time + 30_000 },
  );

const setting = (auth_type: string, rest: Partial<Authorization> = {}) =>
  newAuthorization(auth_type, { domain: "127.0.0.1", ...rest });

/** A workflow that makes the call twice and handles cookies. */
const twice = (tick: Tick): Tick => ({
  ...tick,
  calls: [...tick.calls, ...tick.calls],
  workflow: newWorkflow({ handle_cookies: true }),
});

/** Makes one call that is due now; returns the request that the target received, and the result. */
async function callNow(
  system: Awaited<ReturnType<typeof startSystem>>,
  target: HttpTarget,
  authorization?: Authorization,
) {
  await system.bus.publishTicks([tickFor(target.url, system.hubNow(), authorization)]);
  await expect.poll(() => system.results).toHaveLength(1);
  return { request: target.requests[0], result: system.results[0] };
}

describe.each(ADAPTERS)("an agent on the $name bus", (adapter) => {
  it.each(WRONG_BY)(
    "starts runs and reports them in the hub's time when its clock is wrong by %i ms",
    async (wrongBy) => {
      await using system = await startSystem(adapter, { wrongBy });
      const { machine, results } = system;
      await using target = await startTarget((_, response) => {
        void machine.advance(250).then(() => response.end("ok"));
      });
      await system.bus.publishTicks([tickFor(target.url, NOW + 12_000)]);
      await expect.poll(() => machine.waiting()).toEqual([NOW + wrongBy + 12_000]);
      await machine.advance(11_999);
      expect(target.connections()).toBe(0);
      await machine.advance(1);
      await expect.poll(() => results).toHaveLength(1);
      expect(results[0]).toMatchObject({
        meta: {
          result: "COMPLETE",
          start_time: "2026-10-01T12:00:12.000000Z",
          end_time: "2026-10-01T12:00:12.250000Z",
          is_late: false,
        },
        timing: { total: 250 },
      });
    },
  );

  it.each(WRONG_BY)(
    "reports a clock that is wrong by %i ms, and when it is right again",
    async (wrongBy) => {
      await using system = await startSystem(adapter, { wrongBy });
      const { machine, heartbeats, offsets } = system;
      // The agent asked until the answers confirmed each other.
      expect(heartbeats.map(({ clock_offset_ms }) => clock_offset_ms)).toEqual(
        Array(3).fill(undefined),
      );
      expect(await offsets()).toEqual([-wrongBy / 1000]);
      await machine.setNow(system.hubNow());
      await expect.poll(offsets).toEqual([0]);
      expect(heartbeats.at(-1)).toMatchObject({ agent_id: "agent-1", clock_offset_ms: -wrongBy });
      expect(system.logged()).toEqual([
        ["warn", "machine's clock is wrong; using the hub's time", -wrongBy],
        ["info", "machine's clock is right again", 0],
      ]);
    },
  );

  it("uses its own clock, and exports no offset of it, if the hub does not answer", async () => {
    await using target = await startTarget();
    await using system = await startSystem(adapter, {
      wrongBy: TEN_MINUTES,
      hubAnswers: false,
    });
    const { machine, results } = system;
    const due = machine.now() + 12_000;
    await system.bus.publishTicks([tickFor(target.url, due)]);
    await expect.poll(() => machine.waiting()).toEqual([due]);
    await machine.advance(12_000);
    await expect.poll(() => results).toHaveLength(1);
    expect(results[0]?.meta.start_time).toBe("2026-10-01T12:10:12.000000Z");
    expect(system.logged()).toEqual([]);
    expect(await system.offsets()).toEqual([]);
  });
});

// The rest is the same on any bus: it gives the agent the hub's time, as the tests above show.
describe.each(ADAPTERS.filter(({ name }) => name === "in-process"))("an agent", (adapter) => {
  it.each(WRONG_BY)(
    "measures correctly during and after a change of its clock by %i ms",
    async (change) => {
      await using system = await startSystem(adapter, {});
      const { machine, results, hubNow } = system;
      await using target = await startTarget((_, response) => {
        void machine
          .setNow(machine.now() + (results.length === 0 ? change : 0))
          .then(() => machine.advance(250))
          .then(() => response.end("ok"));
      });
      await callNow(system, target);
      await expect.poll(() => system.logged()).toHaveLength(1);
      const due = hubNow() + 5000;
      await system.bus.publishTicks([tickFor(target.url, due)]);
      await expect.poll(() => machine.waiting()).toEqual([due + change]);
      await machine.advance(5000);
      await expect.poll(() => results).toHaveLength(2);
      expect(results.map(({ meta }) => [meta.start_time, meta.end_time])).toEqual([
        ["2026-10-01T12:00:00.000000Z", "2026-10-01T12:00:00.250000Z"],
        ["2026-10-01T12:00:05.250000Z", "2026-10-01T12:00:05.500000Z"],
      ]);
    },
  );

  it.each(WRONG_BY)(
    "holds a tick until the hub's instant while its clock, wrong by %i ms, is corrected",
    async (wrongBy) => {
      await using target = await startTarget();
      await using system = await startSystem(adapter, { wrongBy });
      const { machine, results, hubNow } = system;
      await system.bus.publishTicks([tickFor(target.url, NOW + 60_000)]);
      await expect.poll(() => machine.waiting()).toEqual([NOW + wrongBy + 60_000]);
      await machine.setNow(hubNow());
      await expect.poll(() => machine.waiting()).toEqual([NOW + 60_000]);
      await machine.advance(60_000);
      await expect.poll(() => results).toHaveLength(1);
      expect(results[0]?.meta.start_time).toBe("2026-10-01T12:01:00.000000Z");
    },
  );

  it.each(WRONG_BY)(
    "signs OAUTH1 in the hub's time when its clock is wrong by %i ms",
    async (wrongBy) => {
      await using target = await startTarget();
      await using system = await startSystem(adapter, { wrongBy });
      const { request } = await callNow(system, target, setting("OAUTH1"));
      const header = request?.headers.authorization ?? "";
      const value = (name: string): string =>
        decodeURIComponent(new RegExp(`${name}="(.*?)"`).exec(header)?.[1] ?? "");
      const parameters = [
        ["oauth_consumer_key", "id"],
        ["oauth_signature_method", "HMAC-SHA1"],
        ["oauth_timestamp", String(NOW / 1000)],
        ["oauth_nonce", value("oauth_nonce")],
        ["oauth_version", "1.0"],
      ] as const;
      expect(value("oauth_signature")).toBe(
        signOAuth1(newRequest(target.url), "HMAC-SHA1", parameters, {
          consumer: "secret",
          token: "",
        }),
      );
    },
  );

  it.each(WRONG_BY)(
    "signs AMAZON in the hub's time when its clock is wrong by %i ms",
    async (wrongBy) => {
      await using target = await startTarget();
      await using system = await startSystem(adapter, { wrongBy });
      const amazon = setting("AMAZON", {
        settings: { region: "us-east-1", service: "service" },
      });
      const { request } = await callNow(system, target, amazon);
      const host = { key: "Host", value: target.authority };
      const signed = await authorizeAmazon(newRequest(target.url, { headers: [host] }), amazon, {
        now: NOW,
        nonce: "",
      });
      expect(request?.headers["x-amz-date"]).toBe("20261001T120000Z");
      expect(request?.headers.authorization).toBe(sent(signed));
    },
  );

  it.each([
    ["in a minute", TEN_MINUTES, NOW + 60_000, "COMPLETE"],
    ["a minute ago", -TEN_MINUTES, NOW - 60_000, "SKIPPED"],
  ])(
    "checks a token that expires %s by the hub's time",
    async (_, wrongBy, expires_at, expected) => {
      await using target = await startTarget();
      await using system = await startSystem(adapter, { wrongBy });
      const bearer = setting("OAUTH2", { token: newToken({ expires_at }) });
      const { result } = await callNow(system, target, bearer);
      expect(result?.meta.result).toBe(expected);
    },
  );

  const cookies: [string, number, number, string | undefined][] = [
    ["in a minute", TEN_MINUTES, NOW + 60_000, "a=1"],
    ["a minute ago", -TEN_MINUTES, NOW - 60_000, undefined],
  ];

  it.each(cookies)(
    "checks a cookie that expires %s by the hub's time",
    async (_, wrongBy, expires, expected) => {
      const date = new Date(expires).toUTCString();
      await using target = await startTarget(({ url }, response) => {
        const location = url === "/" ? { location: "/next" } : {};
        response.setHeader("set-cookie", `a=1; Expires=${date}`);
        response.writeHead(url === "/" ? 302 : 200, location).end();
      });
      await using system = await startSystem(adapter, { wrongBy });
      await callNow(system, target);
      expect(target.requests.map(({ headers }) => headers.cookie)).toEqual([undefined, expected]);
    },
  );

  it.each(cookies)(
    "checks a workflow's cookie that expires %s by the hub's time",
    async (_, wrongBy, expires, expected) => {
      const date = new Date(expires).toUTCString();
      await using target = await startTarget((_request, response) => {
        response.setHeader("set-cookie", `a=1; Expires=${date}`).end();
      });
      await using system = await startSystem(adapter, { wrongBy });
      await system.bus.publishTicks([twice(tickFor(target.url, NOW))]);
      await expect.poll(() => system.results).toHaveLength(2);
      expect(target.requests.map(({ headers }) => headers.cookie)).toEqual([undefined, expected]);
    },
  );
});
