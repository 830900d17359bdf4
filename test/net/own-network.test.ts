import { expect, it } from "vitest";
import { createOwnNetwork } from "../../src/net/own-network.ts";
import type { OwnNetworkOptions, WatchedNetwork } from "../../src/net/own-network.ts";
import { createManualClock } from "../support/manual-clock.ts";

interface Surroundings extends Partial<OwnNetworkOptions> {
  readonly addresses?: Record<string, string[]>;
}

const networkOf = ({ addresses = {}, ...given }: Surroundings): Promise<WatchedNetwork> =>
  createOwnNetwork({
    clock: createManualClock(0),
    ports: [],
    servers: [],
    announced: () => [],
    async find(name) {
      const found = addresses[name];
      if (!found) throw new Error(`${name} is unknown`);
      return found.map((address) => ({ address, family: 4 }));
    },
    ...given,
  });

const portsOf = ({ ports }: WatchedNetwork): number[] => [...ports];

const serversOf = ({ servers }: WatchedNetwork): string[] => [...servers];

it("lists known ports, those of announced servers, and those of new listeners", async () => {
  const network = await networkOf({ ports: [81], announced: () => ["a:4222", "[::1]:6222"] });
  network.listensOn(4001);
  expect(portsOf(network)).toEqual([81, 4222, 6222, 4001]);
});

it("lists servers by all their addresses, without those of unknown name", async () => {
  const network = await networkOf({
    servers: ["a:4222", "[::1]:5222", "b:4222"],
    addresses: { a: ["10.0.0.1", "10.0.0.2"], "::1": ["::1"] },
  });
  expect(serversOf(network)).toEqual(["10.0.0.1 4222", "10.0.0.2 4222", "::1 5222"]);
});

it("looks servers up again after a minute, and keeps the addresses it found before", async () => {
  const addresses = { a: ["10.0.0.1"] };
  const clock = createManualClock(0);
  const network = await networkOf({ servers: ["a:4222"], addresses, clock });
  await network.start();
  addresses.a = ["10.0.0.9"];
  await clock.advance(59_000);
  expect(serversOf(network)).toEqual(["10.0.0.1 4222"]);
  await clock.advance(1_000);
  await expect.poll(() => serversOf(network)).toEqual(["10.0.0.1 4222", "10.0.0.9 4222"]);
  await network.stop();
});

it("learns of announced servers within a second, and never forgets one", async () => {
  const announced = ["a:4222", "b:4223"];
  const clock = createManualClock(0);
  const network = await networkOf({
    servers: ["a:4222"],
    announced: () => announced,
    addresses: { a: ["10.0.0.1"], b: ["10.0.0.2"], c: ["10.0.0.3"] },
    clock,
  });
  expect(serversOf(network)).toEqual(["10.0.0.1 4222", "10.0.0.2 4223"]);
  await network.start();
  announced.splice(0, 2, "c:4224");
  await clock.advance(1_000);
  await expect
    .poll(() => serversOf(network))
    .toEqual(["10.0.0.1 4222", "10.0.0.2 4223", "10.0.0.3 4224"]);
  expect(portsOf(network)).toEqual([4223, 4224]);
  await network.stop();
  expect(clock.waiting()).toEqual([]);
});
