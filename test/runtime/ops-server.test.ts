// /livez, /readyz and /metrics over a real socket.
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { Gauge, createRegistry } from "../../src/runtime/metrics.ts";
import { createOpsServer } from "../../src/runtime/ops-server.ts";
import type { OpsServerOptions } from "../../src/runtime/ops-server.ts";
import { closedBeyond, MOST_SENT, sendEndlessly } from "../support/hostile-client.ts";
import { track } from "../support/no-leftovers.ts";
import { captureLog } from "./log-lines.ts";

async function startOps(change: Partial<OpsServerOptions> = {}) {
  const captured = captureLog();
  const registry = createRegistry({ version: "1.2.3" });
  const ops = createOpsServer({
    host: "127.0.0.1",
    port: 0,
    maxConnections: 100,
    registry,
    state: () => "running",
    checks: [],
    log: captured.log,
    ...change,
  });
  await ops.start();
  const stopped = track("ops server");
  const { port = 0 } = ops.address() ?? {};
  return {
    ...captured,
    ops,
    port,
    registry,
    request: (path: string, init: RequestInit = {}) =>
      fetch(`http://127.0.0.1:${port}${path}`, init),
    async readiness() {
      const response = await fetch(`http://127.0.0.1:${port}/readyz`);
      return {
        status: response.status,
        body: await response.json(),
      };
    },
    [Symbol.asyncDispose]: async () => {
      await ops.stop();
      stopped();
    },
  };
}

const notReady = (part: string, reason: string) => ({
  status: 503,
  body: { status: "not ready", failing: [{ part, reason }] },
});
const READY = { status: 200, body: { status: "ready" } };

it("a failed request is logged without its address, which may hold a key", async () => {
  const threadMetrics = () => Promise.reject(new Error("the thread has ended"));
  await using ops = await startOps({ threadMetrics });
  const response = await ops.request("/metrics?_token=AAAABBBBCCCCDDDDEEEEFFFFGGGGHHHH");
  expect(response.status).toBe(500);
  expect(ops.lines()).toMatchObject([
    { msg: "ops server listening" },
    { msg: "ops request failed", err: { message: "the thread has ended" } },
  ]);
  expect(ops.text()).not.toContain("AAAABBBB");
});

describe("/readyz", () => {
  it("is ready when every part is", async () => {
    await using ops = await startOps({
      checks: [
        { part: "database", check: () => Promise.resolve() },
        { part: "bus", check: () => undefined },
      ],
    });
    expect(await ops.readiness()).toEqual(READY);
  });

  it.each(["starting", "draining", "stopped"] as const)(
    "is not ready while %s, and asks no part",
    async (state) => {
      let asked = 0;
      await using ops = await startOps({
        state: () => state,
        checks: [{ part: "database", check: () => void (asked += 1) }],
      });
      expect(await ops.readiness()).toEqual(notReady("process", state));
      expect(asked).toBe(0);
    },
  );

  it.each([
    ["rejects", () => Promise.reject(new Error("connection refused"))],
    [
      "throws",
      () => {
        throw new Error("connection refused");
      },
    ],
  ])("names the part whose check %s, with the reason", async (_, check) => {
    await using ops = await startOps({
      checks: [
        { part: "bus", check: () => undefined },
        { part: "database", check },
      ],
    });
    expect(await ops.readiness()).toEqual(notReady("database", "connection refused"));
    // It has never been ready: what it waits for may start later.
    expect(ops.lines().at(-1)).toMatchObject({ level: "info", msg: "process not ready" });
  });

  it("names a part that does not answer within 2 s", async () => {
    await using ops = await startOps({
      checks: [{ part: "database", check: () => new Promise(() => undefined) }],
    });
    expect(await ops.readiness()).toEqual(notReady("database", "no answer within 2 s"));
  });

  it("follows its parts, and logs each change once", async () => {
    let isAway = false;
    await using ops = await startOps({
      checks: [
        {
          part: "database",
          check: () => {
            if (isAway) throw new Error("away");
          },
        },
      ],
    });
    expect(await ops.readiness()).toEqual(READY);
    isAway = true;
    expect(await ops.readiness()).toEqual(notReady("database", "away"));
    expect(await ops.readiness()).toEqual(notReady("database", "away"));
    isAway = false;
    expect(await ops.readiness()).toEqual(READY);
    expect(ops.lines().map((line) => [line["level"], line["msg"]])).toEqual([
      ["info", "ops server listening"],
      ["warn", "process not ready"],
      ["info", "process ready again"],
    ]);
  });
});

describe("/livez", () => {
  it("answers whatever the state and the parts", async () => {
    await using ops = await startOps({
      state: () => "draining",
      checks: [{ part: "database", check: () => Promise.reject(new Error("away")) }],
    });
    const response = await ops.request("/livez");
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: "alive" });
  });
});

describe("/metrics", () => {
  it("has the build, the process with its event-loop lag, and what roles register", async () => {
    await using ops = await startOps();
    new Gauge({
      name: "sonde_test_things",
      help: "Things.",
      registers: [ops.registry],
    }).set(7);
    const response = await ops.request("/metrics");
    const text = await response.text();
    expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text).toContain('sonde_build_info{version="1.2.3"} 1\n');
    expect(text).toMatch(/^process_cpu_seconds_total \d/m);
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds /m);
    expect(text).toContain("sonde_test_things 7\n");
  });

  it("shows only the metrics of its own registry", async () => {
    const [first, second] = [createRegistry({ version: "1" }), createRegistry({ version: "2" })];
    expect(await first.metrics()).toContain('sonde_build_info{version="1"}');
    expect(await second.metrics()).not.toContain('version="1"');
  });
});

const NOT_FOUND = "not found: this port serves /livez, /readyz, /metrics; the API is at SONDE_PORT";

describe("any other request", () => {
  it.each([
    ["an unknown path", "GET", "/", 404, NOT_FOUND],
    ["a name of the language", "GET", "/constructor", 404, NOT_FOUND],
    ["another method", "POST", "/metrics", 405, "method not allowed"],
    ["a deletion", "DELETE", "/livez", 405, "method not allowed"],
  ])("is refused: %s", async (_, method, path, status, error_msg) => {
    await using ops = await startOps();
    const response = await ops.request(path, { method });
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ error_msg, error: status });
    expect(response.headers.get("allow")).toBe(status === 405 ? "GET, HEAD" : null);
  });

  it("may use HEAD or have a query", async () => {
    await using ops = await startOps();
    const head = await ops.request("/readyz", { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect((await ops.request("/livez?verbose=1")).status).toBe(200);
  });
});

describe("the ops server", () => {
  it("forbids caching and type sniffing", async () => {
    await using ops = await startOps();
    for (const path of ["/livez", "/metrics", "/unknown"]) {
      const { headers } = await ops.request(path);
      expect([headers.get("cache-control"), headers.get("x-content-type-options")]).toEqual([
        "no-store",
        "nosniff",
      ]);
    }
  });

  it("reads little of an unwanted body", async () => {
    await using ops = await startOps();
    for (const path of ["/livez", "/metrics", "/unknown"]) {
      const { answer, sent } = await sendEndlessly(ops.port, `POST ${path}`);
      expect(answer).toMatch(/^HTTP\/1\.1 40[45] .*\r\nconnection: close\r\n/is);
      expect(sent).toBeLessThan(MOST_SENT);
    }
  });

  it("closes connections beyond its limit", async () => {
    await using ops = await startOps({ maxConnections: 1 });
    expect(await closedBeyond(ops.port, 1)).toBe(true);
  });

  it("names the setting to change when its port is taken", async () => {
    await using taken = await startOps();
    await expect(startOps({ port: taken.port })).rejects.toThrow(
      `the ops server cannot listen on 127.0.0.1:${taken.port}: the port is in use; choose another with SONDE_OPS_PORT`,
    );
  });

  it("names the settings to correct when its host is not a local address", async () => {
    await expect(startOps({ host: "192.0.2.1" })).rejects.toThrow(
      "the ops server cannot listen on 192.0.2.1:0: this machine does not have the address; correct SONDE_OPS_HOST or SONDE_OPS_PORT",
    );
  });

  it("reports its real port, and none before its start and after its stop", async () => {
    const { log } = captureLog();
    const registry = createRegistry({ version: "1" });
    const ops = createOpsServer({
      host: "127.0.0.1",
      port: 0,
      maxConnections: 1,
      registry,
      state: () => "running",
      checks: [],
      log,
    });
    expect(ops.address()).toBeUndefined();
    await ops.stop();
    await ops.start();
    expect(ops.address()).toEqual({
      host: "127.0.0.1",
      port: expect.any(Number) as number,
    });
    await ops.stop();
    expect(ops.address()).toBeUndefined();
  });

  it("stops while a client holds an idle connection", async () => {
    const ops = await startOps();
    const socket = connect(ops.port, "127.0.0.1");
    await once(socket, "connect");
    const closed = once(socket, "close");
    const stopped = ops[Symbol.asyncDispose]().then(() => "stopped");
    // Node alone would wait for the request, for up to 5 s.
    expect(await Promise.race([stopped, delay(3000, "still waiting")])).toBe("stopped");
    await closed;
  });
});
