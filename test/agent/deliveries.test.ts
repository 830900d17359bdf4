import { describe, expect, it } from "vitest";
import { createDeliveries } from "../../src/agent/deliveries.ts";
import { parseEgressAllow } from "../../src/agent/egress.ts";
import { createHttpCaller } from "../../src/agent/http-call.ts";
import { createAgentMetrics } from "../../src/agent/metrics.ts";
import type { ReportPublisher } from "../../src/agent/report-publisher.ts";
import { createTickRunner } from "../../src/agent/run-tick.ts";
import type { RunReport } from "../../src/model/result.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { createRegistry } from "../../src/runtime/metrics.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { startTarget } from "../support/target-server.ts";
import { newCall, newTick } from "./calling.ts";

/** Takes reports, and lets the test say when each is stored. */
function newOutlet() {
  const offered: RunReport[] = [];
  const store: (() => void)[] = [];
  const publisher: ReportPublisher = {
    publish(report) {
      offered.push(report);
      return new Promise((resolve) => store.push(resolve));
    },
    abandon: () => undefined,
  };
  return {
    publisher,
    offered,
    storeAll: () => store.splice(0).forEach((done) => done()),
  };
}

function newDeliveries(publisher: ReportPublisher) {
  const clock = createManualClock(0);
  return createDeliveries({
    clock,
    publisher,
    metrics: createAgentMetrics(createRegistry({ version: "test" })),
    concurrency: 10,
    runner: createTickRunner({
      clock,
      log: createLogger("silent"),
      caller: createHttpCaller({
        clock,
        egress: parseEgressAllow(["127.0.0.1"]),
      }),
      reporter: { locationId: "here", agentId: "agent" },
      version: "1.2.3",
    }),
  });
}

describe("a message of ticks", () => {
  it("is done only when its reports are stored", async () => {
    await using target = await startTarget();
    const { publisher, offered, storeAll } = newOutlet();
    const deliveries = newDeliveries(publisher);
    let done = false;
    const taken = deliveries
      .take([newTick(newCall({ url: target.url }))])
      .then(() => (done = true));
    await expect.poll(() => offered).toHaveLength(1);
    expect(done).toBe(false);
    storeAll();
    await taken;
    expect(done).toBe(true);
  });

  it("that comes again while it runs is not run twice", async () => {
    await using target = await startTarget();
    const { publisher, offered, storeAll } = newOutlet();
    const deliveries = newDeliveries(publisher);
    const tick = newTick(newCall({ url: target.url }));
    const both = [deliveries.take([tick]), deliveries.take([tick])];
    await expect.poll(() => offered).toHaveLength(1);
    storeAll();
    await Promise.all(both);
    expect(target.requests).toHaveLength(1);
  });

  it("that comes again after it ran is answered with the outcome of the first time", async () => {
    await using target = await startTarget();
    const { publisher, offered, storeAll } = newOutlet();
    const deliveries = newDeliveries(publisher);
    const tick = newTick(newCall({ url: target.url }));
    for (let time = 1; time <= 2; time += 1) {
      const taken = deliveries.take([tick]);
      await expect.poll(() => offered).toHaveLength(time);
      storeAll();
      await taken;
    }
    expect(offered[1]).toBe(offered[0]);
    expect(target.requests).toHaveLength(1);
  });

  it("is given back as a whole when a run is cancelled", async () => {
    await using target = await startTarget(() => undefined);
    const { publisher } = newOutlet();
    const deliveries = newDeliveries(publisher);
    const taken = deliveries.take([newTick(newCall({ url: target.url }))]);
    taken.catch(() => undefined);
    await expect.poll(() => target.requests).toHaveLength(1);
    expect(deliveries.inFlight()).toBe(1);
    deliveries.giveBack();
    deliveries.cancel();
    await expect(taken).rejects.toThrow("stopped before the run ended");
    await expect.poll(() => target.open()).toBe(0);
  });
});
