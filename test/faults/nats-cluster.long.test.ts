// What happens to runs when a NATS cluster loses a leader, a stream or its messages, and what the
// hub and the doctor say of one without a quorum.
import { jetstreamManager } from "@nats-io/jetstream";
import type { JetStreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { expect, it } from "vitest";
import { inspectNats } from "../../src/bus/nats/inspection.ts";
import { streamFindings } from "../../src/doctor/nats.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { connectTo, quiet, STREAMS } from "../bus/buses.ts";
import { startNatsCluster } from "../support/nats-server.ts";
import type { NatsServer } from "../support/nats-server.ts";
import { announcedSeed, between, randomOf } from "../support/seed.ts";
import { dueOf, isComplete, startService } from "../support/service.ts";
import { until } from "../support/until.ts";

it("a hub is not connected while a cluster has no quorum, and the doctor names the failure", async () => {
  await using stack = new AsyncDisposableStack();
  const [first, second, third] = await startNatsCluster(stack);
  const bus = stack.use(await connectTo(first?.url ?? ""));
  await using client = await connect({ servers: first?.url ?? "" });
  const manager = await jetstreamManager(client, { checkAPI: false });
  await Promise.all([second?.kill(), third?.kill()]);
  // A leader goes on answering for a while.
  await until(() => expect(manager.getAccountInfo()).rejects.toThrow());
  await until(() => {
    const { connected, detail } = bus.status();
    expect(connected).toBe(false);
    expect(detail).toContain("JetStream stores no message");
  });
  const options = { servers: [first?.url ?? ""], name: "doctor", log: quiet, streams: STREAMS };
  expect(streamFindings(await inspectNats(options))).toEqual([
    {
      state: "failure",
      finding: expect.stringContaining("JetStream stores no message (") as string,
      advice: "start servers with JetStream until more than half of the cluster run",
    },
  ]);
  await Promise.all([second?.restart(), third?.restart()]);
  await until(() => expect(bus.status().connected).toBe(true));
  await until(async () =>
    expect(streamFindings(await inspectNats(options)).map(({ state }) => state)).toEqual([
      "ok",
      "ok",
    ]),
  );
}, 120_000);

it("no run is lost with a stream's leader, and each has one outcome when the streams are deleted", async (test) => {
  const random = randomOf(await announcedSeed(test));
  await using stack = new AsyncDisposableStack();
  const servers = await startNatsCluster(stack);
  const natsUrl = servers.map(({ url }) => url).join(",");
  const service = stack.use(await startService({ natsUrl }));
  service.start("scheduler");
  service.start("aggregator");
  service.start("agent");
  service.start("agent");
  await service.completes();
  const since = systemClock.now();

  for (const stream of ["SONDE_TICKS", "SONDE_RESULTS"]) {
    await systemClock.waitUntil(systemClock.now() + between(random, 0, 15_000));
    const leader = await leaderOf(stream, servers);
    await leader.kill();
    await service.completes(systemClock.now());
    await leader.restart();
    await until(async () => expect(await isWhole(stream, servers)).toBe(true));
  }
  const cut = systemClock.now();
  await administer(servers, (manager) => manager.streams.purge("SONDE_TICKS"));
  await systemClock.waitUntil(cut + between(random, 0, 10_000));
  await administer(servers, (manager) => manager.streams.delete("SONDE_TICKS"));
  await administer(servers, (manager) => manager.streams.delete("SONDE_RESULTS"));
  const healed = systemClock.now();
  await service.completes(healed + 15_000);
  await until(async () => expect(await replicasOf("SONDE_TICKS", servers)).toBe(3));

  const { results } = await service.expectLedgerHolds();
  const lost = results.filter((each) => dueOf(each) > since && !isComplete(each));
  for (const each of lost) {
    expect(each.meta.result).toBe("MISSED");
    // Ticks are published up to twelve seconds before their minute begins.
    expect(dueOf(each)).toBeGreaterThan(cut - 12_000);
    expect(dueOf(each)).toBeLessThan(healed + 75_000);
  }
});

/** Repeats a request until it is answered: a change of leader loses those in flight. */
async function administer<T>(
  servers: readonly NatsServer[],
  act: (manager: JetStreamManager) => Promise<T>,
): Promise<T> {
  await using client = await connect({ servers: servers.map(({ url }) => url) });
  return await until(async () => await act(await jetstreamManager(client, { timeout: 5_000 })));
}

const infoOf = (stream: string, servers: readonly NatsServer[]) =>
  administer(servers, (manager) => manager.streams.info(stream));

/** Returns the stream's leader; the servers are named n0, n1 and n2. */
async function leaderOf(stream: string, servers: readonly NatsServer[]): Promise<NatsServer> {
  const { cluster } = await infoOf(stream, servers);
  const leader = servers[Number(cluster?.leader?.slice(1))];
  if (!leader) throw new Error(`${stream} has no leader`);
  return leader;
}

async function isWhole(stream: string, servers: readonly NatsServer[]): Promise<boolean> {
  const { cluster } = await infoOf(stream, servers);
  return cluster?.replicas?.every(({ current }) => current) ?? false;
}

const replicasOf = async (stream: string, servers: readonly NatsServer[]): Promise<number> =>
  (await infoOf(stream, servers)).config.num_replicas;
