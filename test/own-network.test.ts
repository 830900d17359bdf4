import { describe, expect, it } from "vitest";
import { loadConfig } from "../src/config.ts";
import { ownPortsOf, uplinkCheckOf } from "../src/own-network.ts";

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

describe("the ports of Sonde on its machine", () => {
  it("are those that are configured", () => {
    const config = loadConfig({ ...NATS, SONDE_PORT: "81" });
    expect(ownPortsOf(config, none)).toEqual([9464, 81, 4222, 5222]);
  });

  it("are those that the system gave where none is configured", () => {
    const config = loadConfig({ SONDE_PORT: "0", SONDE_OPS_PORT: "0" });
    const listeners = { ops: { port: 4001 }, api: "http://[::1]:4002" };
    expect(ownPortsOf(config, listeners)).toEqual([4001, 4002]);
  });
});
