// What happens to runs when clocks are set, and when the line to the hub is bad.
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/runtime/clock.ts";
import { announcedSeed, between, randomOf } from "../support/seed.ts";
import { dueOf, isComplete, startService } from "../support/service.ts";
import type { TestService } from "../support/service.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const STEPPING = fileURLToPath(new URL("../support/stepping-clock.ts", import.meta.url));
const HOUR = 3_600_000;

const stepping = (...steps: readonly number[]) => ({
  NODE_OPTIONS: `--import=${STEPPING}`,
  CLOCK_STEPS: steps.join(","),
});

async function expectAllComplete(service: TestService, since: number): Promise<void> {
  const { results } = await service.expectLedgerHolds();
  const due = results.filter((each) => dueOf(each) > since);
  expect(due.filter((each) => !isComplete(each)).map(({ meta }) => meta.message)).toEqual([]);
  expect(due.length).toBeGreaterThan(30);
}

describe.concurrent("every run is complete, counted once and dated by the hub's clock", () => {
  it("while the clocks of the scheduler, the aggregator and the agent are stepped", async (test) => {
    const random = randomOf(await announcedSeed(test));
    await using service = await startService();
    const processes = [
      service.start("scheduler", stepping(HOUR, -HOUR, 0)),
      service.start("aggregator", stepping(-HOUR, HOUR, 0)),
      service.start("agent", stepping(10 * 60_000, -10 * 60_000, 0)),
    ];
    await service.completes();
    const since = systemClock.now();
    for (let step = 0; step < 3; step += 1)
      for (const each of processes) {
        await systemClock.waitUntil(systemClock.now() + between(random, 2000, 15_000));
        each.signal("SIGUSR2");
      }
    await service.completes(systemClock.now());
    const { results } = await service.ledger();
    for (const { meta } of results.filter(isComplete)) {
      const late = Date.parse(meta.start_time ?? "") - Date.parse(meta.due_time);
      expect(late, `${meta.due_time} started ${meta.start_time}`).toBeGreaterThan(-1500);
      expect(late, `${meta.due_time} started ${meta.start_time}`).toBeLessThan(31_000);
    }
    await expectAllComplete(service, since);
  });

  it("over a line that loses 5 % and delays everything by 300 ms", async (test) => {
    const random = randomOf(await announcedSeed(test));
    await using service = await startService();
    const port = Number(new URL(service.natsUrl).port);
    await using line = await startTcpProxy(port, { delayMs: 300, loss: 0.05, random });
    const far = { SONDE_NATS_URL: `nats://127.0.0.1:${line.port}` };
    service.start("scheduler");
    service.start("aggregator", far);
    service.start("agent", far);
    service.start("agent", far);
    await service.completes();
    const since = systemClock.now();
    await systemClock.waitUntil(since + 90_000);
    await expectAllComplete(service, since);
  });
});
