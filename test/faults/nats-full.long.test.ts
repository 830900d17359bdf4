// What users see, and what happens to runs, while a stream in NATS is full.
import { jetstreamManager } from "@nats-io/jetstream";
import { setTimeout as delay } from "node:timers/promises";
import { connect } from "@nats-io/transport-node";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/runtime/clock.ts";
import { createClient, httpExchange } from "../support/client.ts";
import { dueOf, isComplete, metricOf, readinessOf, startService } from "../support/service.ts";
import { insertKey } from "../support/runs.ts";
import { until } from "../support/until.ts";

const FULL = { SONDE_NATS_TICKS_MIB: "1", SONDE_NATS_RESULTS_MIB: "1" };

/** Keeps a stream full of messages that nobody takes, even as ending runs free space. */
async function keepFull(url: string, subject: string): Promise<AsyncDisposable> {
  const client = await connect({ servers: url });
  const stream = (await jetstreamManager(client)).jetstream();
  let isFilling = true;
  const fill = async (largest: number): Promise<void> => {
    for (let bytes = largest; bytes > 100 && isFilling;) {
      const stored = await stream.publish(subject, new Uint8Array(bytes)).catch(() => undefined);
      if (!stored) bytes = Math.floor(bytes / 2);
    }
  };
  await fill(256 * 1024);
  const filling = (async () => {
    while (isFilling) {
      await delay(10);
      await fill(8 * 1024);
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      isFilling = false;
      await filling;
      await client.close();
    },
  };
}

async function purge(url: string, stream: string, filter: string): Promise<void> {
  await using client = await connect({ servers: url });
  await (await jetstreamManager(client)).streams.purge(stream, { filter });
}

describe.concurrent("a stream without room", () => {
  it("for ticks: runs end as MISSED with the reason, the API answers, and runs resume", async () => {
    await using service = await startService({ settings: FULL });
    const { key } = await insertKey(service.store, systemClock.now());
    const scheduler = service.start("scheduler");
    const api = service.start("api");
    service.start("aggregator");
    service.start("agent");
    await service.completes();

    const filler = await keepFull(service.natsUrl, "sonde.ticks.elsewhere");
    const reason = "bus_full: the bus had no room for the run";
    // The next ticks may be a minute away.
    await service.eventually(async () => {
      const [fault] = (await readinessOf(scheduler)).body.degraded ?? [];
      expect(fault?.reason).toMatch("SONDE_NATS_TICKS_MIB");
    });
    expect((await readinessOf(scheduler)).ok).toBe(true);
    const client = createClient(httpExchange(await api.api(), key));
    await service.eventually(({ results }) =>
      expect(results.map(({ meta }) => meta.message)).toContain(reason),
    );
    expect(await client.send("GET", "/calls/")).toHaveProperty("results");
    expect(await metricOf(scheduler, "sonde_bus_refused_messages_total")).toBeGreaterThan(0);

    await filler[Symbol.asyncDispose]();
    await purge(service.natsUrl, "SONDE_TICKS", "sonde.ticks.elsewhere");
    const healed = systemClock.now();
    await service.completes(healed + 1000);
    const { results } = await service.expectLedgerHolds();
    const lost = results.filter((each) => !isComplete(each));
    expect(lost.length).toBeGreaterThan(0);
    for (const each of lost) expect(dueOf(each)).toBeLessThan(healed);
    // Ends of runs free room. If a tick takes it before the filler does, the stream is full anew.
    const full =
      "SONDE_TICKS has no room for ticks: start agents where there are none, or raise SONDE_NATS_TICKS_MIB";
    const again = "NATS has room again";
    const said = scheduler.log().filter(({ level, msg }) => level === "error" || msg === again);
    expect(said[0]?.msg).toBe(full);
    expect(said.map(({ msg }) => msg)).toEqual(said.map((_, n) => (n % 2 === 0 ? full : again)));
  });

  it("for results: they wait in the agent's spool, and every run is complete", async () => {
    await using service = await startService({ settings: FULL });
    service.start("scheduler");
    const agent = service.start("agent");
    await agent.ready();
    const since = systemClock.now();
    const filler = await keepFull(service.natsUrl, "sonde.results.elsewhere");
    await until(async () =>
      expect(await metricOf(agent, "sonde_agent_spooled_reports")).toBeGreaterThan(10),
    );
    expect(await readinessOf(agent)).toMatchObject({
      ok: true,
      body: { degraded: [{ reason: expect.stringContaining("SONDE_NATS_RESULTS_MIB") }] },
    });

    await filler[Symbol.asyncDispose]();
    await purge(service.natsUrl, "SONDE_RESULTS", "sonde.results.elsewhere");
    service.start("aggregator");
    await until(async () => expect(await metricOf(agent, "sonde_agent_spooled_reports")).toBe(0));
    const { results } = await service.expectLedgerHolds();
    expect(results.filter((each) => dueOf(each) > since && !isComplete(each))).toEqual([]);
    const said = agent.log().filter(({ level }) => level === "error");
    expect(said.map(({ msg }) => msg)).toEqual([
      "SONDE_RESULTS has no room for results: start an aggregator, or raise SONDE_NATS_RESULTS_MIB",
    ]);
  });
});
