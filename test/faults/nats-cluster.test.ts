// What the bus does when a NATS cluster loses a server.
import { connect } from "@nats-io/transport-node";
import { expect, it } from "vitest";
import { parseEgressAllow } from "../../src/net/egress.ts";
import { loadConfig } from "../../src/config/config.ts";
import { openOwnNetwork } from "../../src/compose/network.ts";
import { aTick, connectTo, newLocation } from "../bus/buses.ts";
import { startNatsCluster } from "../support/nats-server.ts";
import { freePort } from "../support/free-port.ts";
import { until } from "../support/until.ts";

it("a cluster that loses one of three servers keeps every message and its bus", async () => {
  await using stack = new AsyncDisposableStack();
  const servers = await startNatsCluster(stack);
  const urls = servers.map(({ url }) => url);
  // Connects even while the cluster still chooses a leader.
  const bus = stack.use(await connectTo(urls[0] ?? "", { servers: urls }));
  expect(await replicasOf("SONDE_TICKS", urls)).toBe(3);
  const location_id = newLocation();
  const kept = aTick({ location_id });
  await bus.publishTicks([kept]);

  await servers[0]?.kill();
  const taken: string[] = [];
  await bus.consumeTicks(location_id, async (ticks) => {
    taken.push(...ticks.map((tick) => tick.result_id));
  });
  const later = aTick({ location_id });
  await until(() => bus.publishTicks([later]));
  await until(() => {
    expect(taken.toSorted((a, b) => a.localeCompare(b))).toEqual([kept.result_id, later.result_id]);
  });
  await until(() => expect(bus.status()).toMatchObject({ connected: true }));
}, 90_000);

it("egress is closed to every server of the cluster, even when only one is configured", async () => {
  await using stack = new AsyncDisposableStack();
  const [known, ...others] = await startNatsCluster(stack);
  const bus = stack.use(await connectTo(known?.url ?? ""));
  const own = await openOwnNetwork(loadConfig({ SONDE_NATS_URL: known?.url }), bus);
  const egress = parseEgressAllow(["127.0.0.0/8"], own);
  stack.defer(() => own.stop());
  await own.start();
  const elsewhere = await freePort();
  expect(egress.allows("127.0.0.1", elsewhere)).toBe(true);
  await until(() => {
    for (const { port } of others) expect(egress.allows("127.0.0.1", port)).toBe(false);
  });
}, 90_000);

async function replicasOf(stream: string, servers: readonly string[]): Promise<number> {
  await using client = await connect({ servers: [...servers] });
  const subject = `$JS.API.STREAM.INFO.${stream}`;
  // The default timeout is one second, and this process may stall for longer.
  const answer = await client.request(subject, "", { timeout: 30_000 });
  return answer.json<{ config: { num_replicas: number } }>().config.num_replicas;
}
