// The configured network: uplink checks, ports and servers.
import { describe, expect, it } from "vitest";
import { portsOf, serversOf, uplinkCheckOf } from "../../src/compose/network.ts";
import { loadConfig } from "../../src/config/config.ts";

const NATS = { SONDE_NATS_URL: "nats://a,tls://user:pw@[::1]:5222" };

describe("an agent checks its uplink with", () => {
  it.each([
    ["nothing, with the in-process bus", {}, []],
    ["the NATS servers", NATS, ["a:4222", "[::1]:5222"]],
    [
      "the configured hosts",
      { ...NATS, SONDE_UPLINK_CHECK: "192.0.2.1:443,hub:80,[::1]:81" },
      ["192.0.2.1:443", "hub:80", "[::1]:81"],
    ],
  ])("%s", (_, env, expected) => {
    expect(uplinkCheckOf(loadConfig(env))).toEqual(expected);
  });
});

describe("a process knows before it starts", () => {
  it("its configured ports, and those of NATS", () => {
    expect(portsOf(loadConfig({ ...NATS, SONDE_PORT: "81" }))).toEqual([9464, 81, 4222, 5222]);
  });

  it("no port that the system will choose", () => {
    expect(portsOf(loadConfig({ SONDE_PORT: "0", SONDE_OPS_PORT: "0" }))).toEqual([]);
  });
});

describe("the servers of a process are", () => {
  it.each([
    ["none by default", {}, []],
    ["the NATS servers", NATS, ["a:4222", "[::1]:5222"]],
    ["the database", { SONDE_DATABASE_URL: "postgres://u:p@db/sonde" }, ["db:5432"]],
    [
      "the database at its own port",
      { SONDE_DATABASE_URL: "postgresql://db:6432/sonde" },
      ["db:6432"],
    ],
    [
      "the database that parameters of its URL name, as pg connects to it",
      { SONDE_DATABASE_URL: "postgres://a/sonde?host=db&port=6432" },
      ["db:6432"],
    ],
    [
      "none for a database behind a socket",
      { SONDE_DATABASE_URL: "postgres:///sonde?host=/run/postgresql" },
      [],
    ],
  ])("%s", (_, env, expected) => {
    expect(serversOf(loadConfig(env))).toEqual(expected);
  });
});
