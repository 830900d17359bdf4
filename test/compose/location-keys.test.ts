import { expect, it } from "vitest";
import { agentKeysOf, createKeyRing, hubKeysOf } from "../../src/compose/location-keys.ts";
import { loadConfig } from "../../src/config/config.ts";
import { openDataDir } from "../../src/runtime/data-dir.ts";
import { locationKeyOf } from "../../src/runtime/secrets.ts";
import { makeFolder } from "../support/process.ts";

const [master, old, own, former] = [1, 2, 3, 4].map((byte) => Buffer.alloc(32, byte)) as [
  Buffer,
  Buffer,
  Buffer,
  Buffer,
];
const base64 = (...keys: readonly Buffer[]): string =>
  keys.map((key) => key.toString("base64")).join();
const masterKeys = { SONDE_MASTER_KEY: base64(master), SONDE_MASTER_KEYS_OLD: base64(old) };
const agent = {
  SONDE_ROLES: "agent",
  SONDE_LOCATION: "paris",
  SONDE_NATS_URL: "nats://127.0.0.1:4222",
};
const derived = [locationKeyOf(master, "paris"), locationKeyOf(old, "paris")];

it.each([
  ["derived from its master keys", masterKeys, derived],
  [
    "its configured keys only",
    { ...masterKeys, SONDE_LOCATION_KEY: base64(own, former) },
    [own, former],
  ],
])("an agent has the keys of its location: %s", (_, keys, expected) => {
  const keysOf = agentKeysOf(loadConfig({ ...keys, ...agent }));
  expect(keysOf("paris").map((key) => Buffer.from(key))).toEqual(
    expected.map((key) => Buffer.from(key)),
  );
  expect(() => keysOf("tokyo")).toThrow("this process has no key of location tokyo");
});

it("a hub has the keys of every location, and no configured one", () => {
  using folder = makeFolder();
  const config = loadConfig({ ...masterKeys, SONDE_LOCATION_KEY: base64(own) });
  const keysOf = hubKeysOf(config, openDataDir(folder.dataDir));
  expect(keysOf("paris")).toEqual(derived);
  expect(keysOf("tokyo")[0]).toEqual(locationKeyOf(master, "tokyo"));
});

it("a ring keeps a location's sealer until its keys change", () => {
  let key = own;
  const ring = createKeyRing(() => [key]);
  const before = ring.sealerOf("paris");
  key = former;
  expect(ring.sealerOf("paris")).toBe(before);
  ring.changed("paris");
  expect(ring.sealerOf("paris").keyIds).not.toEqual(before.keyIds);
});
