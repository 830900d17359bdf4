// What an agent reports about a hub that does not answer.
import { expect, it } from "vitest";
import { createHeartbeats } from "../../src/agent/heartbeats.ts";
import { createHubClock } from "../../src/agent/hub-clock.ts";
import { createAgentMetrics } from "../../src/agent/metrics.ts";
import { createInProcessBus } from "../../src/bus/in-process.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { Registry } from "../../src/runtime/metrics.ts";

it("counts unanswered heartbeats, and logs once that the hub is silent, then that it answers", async () => {
  const lines: string[] = [];
  const log = createLogger("info", { write: (line) => void lines.push(line) });
  const metrics = createAgentMetrics(new Registry());
  const unanswered = async () => (await metrics.unansweredHeartbeats.get()).values[0]?.value;
  const bus = createInProcessBus({ clock: systemClock, log });
  const heartbeats = createHeartbeats({
    bus,
    clock: createHubClock(systemClock),
    log,
    metrics,
    locationId: "paris",
    agentId: "agent-1",
    version: "0.0.0",
    concurrency: 1,
    condition: () => ({ state: "online", in_flight: 0, held: 0 }),
    duty: { follow: () => false },
  });
  const messages = (): unknown[] => lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
  await heartbeats.send();
  await heartbeats.send();
  expect(messages()).toEqual([]);
  for (let n = 0; n < 3; n += 1) await heartbeats.send();
  const silent = expect.stringContaining(
    "hub does not answer: start an aggregator or repair its database, or set SONDE_LOCATION_KEY",
  ) as string;
  expect(messages()).toEqual([silent]);
  expect(await unanswered()).toBe(5);
  await bus.consumeHeartbeats(async (_, answer) => answer({ now: systemClock.now() }));
  await heartbeats.send();
  expect(messages()).toEqual([silent, "hub answers again"]);
  expect(await unanswered()).toBe(0);
  await bus.close();
});
