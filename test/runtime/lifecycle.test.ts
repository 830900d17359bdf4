// Services that start also stop: in reverse order, and once.
import { describe, expect, it } from "vitest";
import { createLifecycle, together } from "../../src/runtime/lifecycle.ts";
import type { Service } from "../../src/runtime/lifecycle.ts";
import { captureLog } from "./log-lines.ts";

/** Makes services that record what is done with them; `hold` delays a step until it is released. */
function recorder() {
  const events: string[] = [];
  const held = new Map<string, PromiseWithResolvers<void>>();
  const step = async (event: string, failing: boolean): Promise<void> => {
    events.push(event);
    await held.get(event)?.promise;
    if (failing) throw new Error(`${event} failed`);
  };
  return {
    events,
    hold: (event: string) => {
      const gate = Promise.withResolvers<void>();
      held.set(event, gate);
      return gate.resolve;
    },
    service: (name: string, failing: "start" | "stop" | "" = ""): Service => ({
      name,
      start: () => step(`start ${name}`, failing === "start"),
      stop: () => step(`stop ${name}`, failing === "stop"),
    }),
  };
}

describe("a lifecycle", () => {
  it("starts in order and stops in reverse", async () => {
    const { events, service } = recorder();
    const lifecycle = createLifecycle(
      [service("a"), service("b"), service("c")],
      captureLog().log,
      5000,
    );
    expect(lifecycle.state()).toBe("starting");
    await lifecycle.start();
    expect(lifecycle.state()).toBe("running");
    await lifecycle.stop();
    expect(lifecycle.state()).toBe("stopped");
    expect(events).toEqual(["start a", "start b", "start c", "stop c", "stop b", "stop a"]);
  });

  it("stops the started services when one fails to start, and rejects with the reason", async () => {
    const { events, service } = recorder();
    const lifecycle = createLifecycle(
      [service("a"), service("b", "start"), service("c")],
      captureLog().log,
      5000,
    );
    await expect(lifecycle.start()).rejects.toThrow("start b failed");
    expect(events).toEqual(["start a", "start b", "stop a"]);
    expect(lifecycle.state()).toBe("stopped");
  });

  it("gives every caller of stop the same promise", async () => {
    const { events, service } = recorder();
    const lifecycle = createLifecycle([service("a")], captureLog().log, 5000);
    await lifecycle.start();
    const first = lifecycle.stop();
    expect(lifecycle.stop()).toBe(first);
    await first;
    expect(lifecycle.stop()).toBe(first);
    expect(events).toEqual(["start a", "stop a"]);
  });

  it("stops the others when one fails to stop, and logs it", async () => {
    const { events, service } = recorder();
    const { log, lines } = captureLog();
    const lifecycle = createLifecycle([service("a"), service("b", "stop")], log, 5000);
    await lifecycle.start();
    await expect(lifecycle.stop()).rejects.toThrow("not every service stopped");
    expect(events.slice(-2)).toEqual(["stop b", "stop a"]);
    expect(lines()).toContainEqual(
      expect.objectContaining({
        level: "error",
        service: "b",
        msg: "service did not stop",
      }),
    );
  });

  it("rejects at the deadline when a service does not stop", async () => {
    const { hold, service } = recorder();
    const release = hold("stop a");
    const lifecycle = createLifecycle([service("a")], captureLog().log, 20);
    await lifecycle.start();
    await expect(lifecycle.stop()).rejects.toThrow(
      "not stopped after 0.02 s: still waiting for the a to stop",
    );
    expect(lifecycle.state()).toBe("draining");
    release();
  });

  it("rejects at the deadline when a service is still starting, and names it", async () => {
    const { events, hold, service } = recorder();
    const release = hold("start b");
    const lifecycle = createLifecycle([service("a"), service("b")], captureLog().log, 20);
    const starting = lifecycle.start();
    await expect.poll(() => events).toContain("start b");
    await expect(lifecycle.stop()).rejects.toThrow(
      "not stopped after 0.02 s: still waiting for the b to start",
    );
    release();
    await starting;
  });

  it("is draining while its services stop", async () => {
    const { hold, service } = recorder();
    const release = hold("stop a");
    const lifecycle = createLifecycle([service("a")], captureLog().log, 5000);
    await lifecycle.start();
    const stopped = lifecycle.stop();
    expect(lifecycle.state()).toBe("draining");
    release();
    await stopped;
    expect(lifecycle.state()).toBe("stopped");
  });

  it("stopped during its start, starts no more and stops the started services", async () => {
    const { events, hold, service } = recorder();
    const release = hold("start b");
    const lifecycle = createLifecycle(
      [service("a"), service("b"), service("c")],
      captureLog().log,
      5000,
    );
    const starting = lifecycle.start();
    await expect.poll(() => events).toContain("start b");
    const stopped = lifecycle.stop();
    release();
    await Promise.all([starting, stopped]);
    expect(events).toEqual(["start a", "start b", "stop b", "stop a"]);
    expect(lifecycle.state()).toBe("stopped");
  });

  it("stopped before it starts, starts nothing", async () => {
    const { events, service } = recorder();
    const lifecycle = createLifecycle([service("a")], captureLog().log, 5000);
    await lifecycle.stop();
    await lifecycle.start();
    expect(events).toEqual([]);
    expect(lifecycle.state()).toBe("stopped");
  });
});

describe("services together", () => {
  it("stop at the same time", async () => {
    const { events, hold, service } = recorder();
    const release = hold("stop a");
    const both = together("both", [service("a"), service("b")]);
    await both.start();
    const stopped = both.stop();
    expect(events).toEqual(["start a", "start b", "stop a", "stop b"]);
    release();
    await stopped;
  });

  it("all stop when one does not start, once the others have", async () => {
    const { events, hold, service } = recorder();
    const release = hold("start a");
    const started = together("both", [service("a"), service("b", "start")]).start();
    expect(events).toEqual(["start a", "start b"]);
    release();
    await expect(started).rejects.toThrow("start b failed");
    expect(events).toEqual(["start a", "start b", "stop a", "stop b"]);
  });
});
