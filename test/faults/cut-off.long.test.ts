// What happens to runs of an agent whose line to the hub is cut for minutes, and heals.
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/runtime/clock.ts";
import { announcedSeed, between, randomOf } from "../support/seed.ts";
import { dueOf, isComplete, readinessOf, startService } from "../support/service.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";

describe.concurrent("an agent that is cut off", () => {
  it("delivers its results after minutes, and the runs that it could not start are MISSED", async (test) => {
    const random = randomOf(await announcedSeed(test));
    await using service = await startService();
    await using line = await startTcpProxy(Number(new URL(service.natsUrl).port));
    service.start("scheduler,aggregator");
    const agent = service.start("agent", { SONDE_NATS_URL: `nats://127.0.0.1:${line.port}` });
    await service.completes();

    line.cut();
    const cut = systemClock.now();
    await until(async () => expect((await readinessOf(agent)).ok).toBe(false));
    await systemClock.waitUntil(cut + between(random, 100_000, 130_000));
    line.heal();
    const healed = systemClock.now();
    await until(async () => expect((await readinessOf(agent)).ok).toBe(true));
    await service.completes(healed);

    const { results } = await service.expectLedgerHolds();
    const made = results.filter(isComplete);
    // Runs due before the first complete one may have been too early for the agent's start.
    const first = Math.min(...made.map(dueOf));
    for (const result of results.filter((each) => !isComplete(each) && dueOf(each) > first)) {
      expect(result.meta).toMatchObject({ result: "MISSED" });
      expect(dueOf(result)).toBeGreaterThan(cut - 30_000);
      expect(dueOf(result)).toBeLessThan(healed);
    }
    // The agent had taken some ticks ahead of time, and executed their runs while it was cut off.
    expect(made.some((each) => dueOf(each) > cut && dueOf(each) < healed)).toBe(true);
  });

  it("loses no run and counts none twice if another agent serves its location", async (test) => {
    const random = randomOf(await announcedSeed(test));
    await using service = await startService();
    await using line = await startTcpProxy(Number(new URL(service.natsUrl).port));
    service.start("scheduler,aggregator");
    const cutOff = service.start("agent", { SONDE_NATS_URL: `nats://127.0.0.1:${line.port}` });
    await service.completes();
    const other = service.start("agent");
    await other.ready();
    const joined = systemClock.now();

    await systemClock.waitUntil(joined + between(random, 5000, 25_000));
    line.cut();
    await systemClock.waitUntil(joined + 90_000);
    line.heal();
    await cutOff.ready();

    const { results } = await service.expectLedgerHolds();
    expect(results.filter((each) => dueOf(each) > joined && !isComplete(each))).toEqual([]);
  });
});
