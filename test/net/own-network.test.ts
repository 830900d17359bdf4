import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import { createOwnNetwork, uplinkCheckOf } from "../../src/net/own-network.ts";
import type { Listeners } from "../../src/net/own-network.ts";
import { createManualClock } from "../support/manual-clock.ts";
import type { ManualClock } from "../support/manual-clock.ts";

const NATS = { SONDE_NATS_URL: "nats://a,tls://user:pw@[::1]:5222" };
const none = { ops: undefined, api: undefined };

describe("what an agent looks for to know its network", () => {
  it.each([
    ["nothing with the bus inside the process", {}, []],
    ["the NATS servers", NATS, ["a:4222", "[::1]:5222"]],
    [
      "what is configured",
      { ...NATS, SONDE_UPLINK_CHECK: "192.0.2.1:443,hub:80,[::1]:81" },
      ["192.0.2.1:443", "hub:80", "[::1]:81"],
    ],
  ])("is %s", (_, env, expected) => {
    expect(uplinkCheckOf(loadConfig(env))).toEqual(expected);
  });
});

interface Surroundings {
  readonly addresses?: Record<string, string[]>;
  readonly clock?: ManualClock;
  readonly listeners?: Listeners;
  readonly announced?: readonly string[];
}

const networkOf = (
  env: Record<string, string>,
  {
    addresses = {},
    clock = createManualClock(0),
    listeners = none,
    announced = [],
  }: Surroundings = {},
) =>
  createOwnNetwork({
    config: loadConfig(env),
    clock,
    listeners: () => listeners,
    announced: () => announced,
    async find(name) {
      const found = addresses[name];
      if (!found) throw new Error(`${name} is not known`);
      return found.map((address) => ({ address, family: 4 }));
    },
  });

describe("the ports of Sonde on its machine", () => {
  it("are those that are configured", async () => {
    const network = await networkOf({ ...NATS, SONDE_PORT: "81" });
    expect(network.ports()).toEqual([9464, 81, 4222, 5222]);
  });

  it("are those that the system gave where none is configured", async () => {
    const env = { SONDE_PORT: "0", SONDE_OPS_PORT: "0" };
    const listeners = { ops: { port: 4001 }, api: "http://[::1]:4002" };
    const network = await networkOf(env, { listeners });
    expect(network.ports()).toEqual([4001, 4002]);
  });

  it("are those of announced NATS servers too", async () => {
    const network = await networkOf(
      { SONDE_NATS_URL: "nats://a" },
      { announced: ["a:4222", "[::1]:6222"] },
    );
    expect(network.ports()).toEqual([9464, 8080, 4222, 6222]);
  });
});

describe("the servers that this process uses", () => {
  it.each([
    ["none by themselves", {}, []],
    [
      "NATS, by all its addresses",
      NATS,
      [
        { address: "10.0.0.1", port: 4222 },
        { address: "10.0.0.2", port: 4222 },
        { address: "::1", port: 5222 },
      ],
    ],
    [
      "the database",
      { SONDE_DATABASE_URL: "postgres://u:p@db/sonde" },
      [{ address: "10.0.0.3", port: 5432 }],
    ],
    [
      "the database at a port of its own",
      { SONDE_DATABASE_URL: "postgresql://db:6432/sonde" },
      [{ address: "10.0.0.3", port: 6432 }],
    ],
    [
      "no database that is reached through a socket",
      { SONDE_DATABASE_URL: "postgres:///sonde?host=/run/postgresql" },
      [],
    ],
    ["none of a name that is not found", { SONDE_NATS_URL: "nats://b" }, []],
  ])("are %s", async (_, env, expected) => {
    const network = await networkOf(env, {
      addresses: {
        a: ["10.0.0.1", "10.0.0.2"],
        "::1": ["::1"],
        db: ["10.0.0.3"],
      },
    });
    expect(network.servers()).toEqual(expected);
  });

  it("are looked up again after a minute, and stay known", async () => {
    const addresses = { a: ["10.0.0.1"] };
    const env = { SONDE_NATS_URL: "nats://a" };
    const clock = createManualClock(0);
    const network = await networkOf(env, { addresses, clock });
    addresses.a = ["10.0.0.9"];
    await clock.advance(60_000);
    expect(network.servers()).toEqual([{ address: "10.0.0.1", port: 4222 }]);
    await clock.advance(1);
    await expect
      .poll(() => network.servers().map(({ address }) => address))
      .toEqual(["10.0.0.1", "10.0.0.9"]);
  });

  it("are those that were announced too, once and for all", async () => {
    const addresses = { a: ["10.0.0.1"], b: ["10.0.0.2"], c: ["10.0.0.3"] };
    const announced = ["a:4222", "b:4223"];
    const env = { SONDE_NATS_URL: "nats://a" };
    const network = await networkOf(env, { addresses, announced });
    expect(network.servers()).toEqual([
      { address: "10.0.0.1", port: 4222 },
      { address: "10.0.0.2", port: 4223 },
    ]);
    announced.splice(0, 2, "c:4222");
    await expect
      .poll(() => network.servers().map(({ address }) => address))
      .toEqual(["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
  });
});
