// What happens to runs while the disk of the agent's spool, of PostgreSQL or of NATS is full.
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/runtime/clock.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { startPostgres } from "../support/postgres.ts";
import { dueOf, isComplete, metricOf, readinessOf, startService } from "../support/service.ts";
import { mountSmallDisk } from "../support/small-disk.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";

const MINUTE_MS = 60_000;

describe.concurrent("a full disk", () => {
  it("under the spool of an agent that is cut off: results wait in memory, and arrive", async () => {
    using disk = mountSmallDisk(4);
    await using service = await startService();
    await using line = await startTcpProxy(Number(new URL(service.natsUrl).port));
    service.start("scheduler,aggregator");
    const agent = service.start("agent", {
      SONDE_NATS_URL: `nats://127.0.0.1:${line.port}`,
      SONDE_DATA_DIR: join(disk.path, "data"),
    });
    await service.completes();
    // Four seconds before the minute, the agent already has its ticks.
    const minute = Math.ceil(systemClock.now() / MINUTE_MS) * MINUTE_MS;
    await systemClock.waitUntil(minute - 4000);
    disk.fill();
    line.cut();
    await agent.logged(({ msg }) => msg === "spool unavailable: reports wait in memory");
    await systemClock.waitUntil(minute + 20_000);
    disk.free();
    await agent.logged(({ msg }) => msg === "spool available again");
    line.heal();
    await until(async () => expect((await readinessOf(agent)).ok).toBe(true));
    await until(async () => expect(await metricOf(agent, "sonde_agent_spooled_reports")).toBe(0));
    const { results } = await service.expectLedgerHolds();
    const ofMinute = results.filter(
      (each) => dueOf(each) >= minute && dueOf(each) < minute + 15_000,
    );
    expect(ofMinute.length).toBeGreaterThan(10);
    expect(ofMinute.filter((each) => !isComplete(each))).toEqual([]);
  });

  it("under PostgreSQL: it is logged, and the ledger holds once there is space", async () => {
    using disk = mountSmallDisk(320);
    await using postgres = await startPostgres({ folder: disk.path });
    const databaseUrl = await postgres.createDatabase();
    await using service = await startService({ databaseUrl });
    const hub = service.start("scheduler,aggregator");
    service.start("agent");
    await service.completes();
    disk.fill();
    await hub.logged(({ level }) => level !== "info");
    await systemClock.waitUntil(systemClock.now() + 20_000);
    disk.free();
    // A server that could not write its log has exited; an operator would start it again.
    if (!postgres.isRunning()) await postgres.start();
    const healed = systemClock.now();
    await until(async () => expect((await readinessOf(hub)).ok).toBe(true));
    await service.completes(healed);
    const { results } = await service.expectLedgerHolds();
    expect(results.filter((each) => dueOf(each) > healed + 5000 && !isComplete(each))).toEqual([]);
  });

  it("under NATS: the ledger holds once there is space", async () => {
    using disk = mountSmallDisk(24);
    await using nats = await startNatsServer({ storeDir: join(disk.path, "store") });
    const settings = { SONDE_NATS_TICKS_MIB: "4", SONDE_NATS_RESULTS_MIB: "8" };
    await using service = await startService({ natsUrl: nats.url, settings });
    service.start("scheduler,aggregator");
    service.start("agent");
    await service.completes();
    disk.fill();
    await systemClock.waitUntil(systemClock.now() + 40_000);
    disk.free();
    await nats.kill();
    await nats.restart();
    const healed = systemClock.now();
    await service.completes(healed + 15_000);
    const { results } = await service.expectLedgerHolds();
    expect(results.filter((each) => dueOf(each) > healed + MINUTE_MS && !isComplete(each))).toEqual(
      [],
    );
  });
});
