import { expect, it } from "vitest";
import { loadConfig } from "../src/config.ts";
import { locationKeysOf } from "../src/configured-store.ts";
import { openDataDir } from "../src/data-dir.ts";
import { locationKeyOf } from "../src/runtime/location-key.ts";
import { makeFolder } from "./support/process.ts";

const master = Buffer.alloc(32, 1);
const old = Buffer.alloc(32, 2);
const own = Buffer.alloc(32, 3);
const base64 = (key: Buffer): string => key.toString("base64");

it.each([
  ["none without a key", {}, []],
  [
    "those of its master keys",
    {
      SONDE_MASTER_KEY: base64(master),
      SONDE_MASTER_KEYS_OLD: base64(old),
    },
    [locationKeyOf(master, "paris"), locationKeyOf(old, "paris")],
  ],
  [
    "its own before all others",
    { SONDE_MASTER_KEY: base64(master), SONDE_LOCATION_KEY: base64(own) },
    [own],
  ],
])(
  "an agent in a process of its own has location keys: %s",
  (_what, keys, expected) => {
    using folder = makeFolder();
    const config = loadConfig({
      ...keys,
      SONDE_ROLES: "agent",
      SONDE_LOCATION: "paris",
      SONDE_NATS_URL: "nats://127.0.0.1:4222",
    });
    const found = locationKeysOf(config, openDataDir(folder.dataDir), {
      hasMaster: false,
    });
    expect(found.map((key) => Buffer.from(key))).toEqual(
      expected.map((key) => Buffer.from(key)),
    );
  },
);
