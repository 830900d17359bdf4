import { expect, it } from "vitest";
import { openHubKeys } from "../../src/compose/hub-keys.ts";
import { agentKeysOf, createKeyRing } from "../../src/compose/location-keys.ts";
import { loadConfig } from "../../src/config/config.ts";
import { openDataDir } from "../../src/runtime/data-dir.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { locationKeyOf } from "../../src/runtime/derived-keys.ts";
import { makeFolder } from "../support/process.ts";
import { createTestDatabase } from "../support/stores.ts";

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

it("a hub has the valid keys of every location, and ignores configured ones", async () => {
  using folder = makeFolder();
  await using database = await createTestDatabase("sqlite");
  const store = await database.open();
  for (const id of ["paris", "tokyo", "rome"])
    await store.locations.insert({ id, label: id, region: "", created: 1 });
  const config = loadConfig({ ...masterKeys, SONDE_LOCATION_KEY: base64(own) });
  const dataDir = openDataDir(folder.dataDir);
  const open = () => openHubKeys({ config, dataDir, store, log: createLogger("silent") });
  const { keysOf } = await open();
  // Includes the next key: agents may have it before the hub knows of a rotation.
  expect(keysOf("paris")).toEqual(
    [master, old].flatMap((each) => [1, 2].map((version) => locationKeyOf(each, "paris", version))),
  );
  await store.locations.rotateKey({ id: "paris", key_version: 1 }, Number.MAX_SAFE_INTEGER);
  await store.locations.rotateKey({ id: "tokyo", key_version: 1 }, 1);
  await store.locations.remove("rome", 1);
  const { keysOf: later } = await open();
  // Until the change, the hub seals with the previous key and opens with both.
  expect(later("paris").slice(0, 2)).toEqual([
    locationKeyOf(master, "paris"),
    locationKeyOf(master, "paris", 2),
  ]);
  expect(later("tokyo")[0]).toEqual(locationKeyOf(master, "tokyo", 2));
  expect(later("tokyo")).not.toContainEqual(locationKeyOf(master, "tokyo"));
  expect(() => later("rome")).toThrow("the location rome was removed");
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
