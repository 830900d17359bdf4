// The configured store: an agent's location keys, and the log of undecryptable secrets.
import { expect, it } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import { locationKeysOf, openConfiguredStore } from "../../src/compose/store.ts";
import { openDataDir } from "../../src/runtime/data-dir.ts";
import { locationKeyOf } from "../../src/runtime/secrets.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { makeFolder } from "../support/process.ts";
import { aCall } from "../support/runs.ts";
import { damageSecrets } from "../support/stored-secrets.ts";

const master = Buffer.alloc(32, 1);
const old = Buffer.alloc(32, 2);
const own = Buffer.alloc(32, 3);
const base64 = (key: Buffer): string => key.toString("base64");

it.each([
  ["none without a master key", {}, []],
  [
    "derived from its master keys",
    {
      SONDE_MASTER_KEY: base64(master),
      SONDE_MASTER_KEYS_OLD: base64(old),
    },
    [locationKeyOf(master, "paris"), locationKeyOf(old, "paris")],
  ],
  [
    "its configured key only",
    { SONDE_MASTER_KEY: base64(master), SONDE_LOCATION_KEY: base64(own) },
    [own],
  ],
])("an agent in its own process has location keys: %s", (_what, keys, expected) => {
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
  expect(found.map((key) => Buffer.from(key))).toEqual(expected.map((key) => Buffer.from(key)));
});

it("logs each object with undecryptable secrets once", async () => {
  using folder = makeFolder();
  const lines: string[] = [];
  const log = createLogger("info", {
    write: (line: string) => void lines.push(line),
  });
  const dataDir = openDataDir(folder.dataDir);
  const store = await openConfiguredStore(loadConfig({}), dataDir, log);
  try {
    const tokens = [1, 2, 3].map(() => ({
      ...aCall(),
      kind: "token" as const,
      document: { token: { access_token: "s3cret" } },
    }));
    for (const token of tokens) await store.documents.insert(token);
    const damaged = tokens.slice(1).map(({ id }) => id);
    const location = { file: dataDir.path("sonde.db") };
    for (const id of damaged) await damageSecrets({ location }, id);
    for (let n = 0; n < 3; n += 1)
      await store.transaction(({ documents }) =>
        documents.listKind("token", { after: "", limit: 10 }),
      );
    const logged = lines
      .map((line) => JSON.parse(line) as { readonly id: string })
      .toSorted((a, b) => (a.id < b.id ? -1 : 1)); // decrypted concurrently
    expect(logged).toMatchObject(
      damaged.toSorted().map((id) => ({
        level: "warn",
        msg: "cannot decrypt secrets",
        kind: "token",
        id,
        err: {
          message: expect.stringContaining(
            `the sealed text at token/${id}/token/access_token was changed`,
          ),
        },
      })),
    );
  } finally {
    await store.close();
  }
});
