// `sonde locations`: adds and lists locations, and prints the environment of their agents.
import type { Config } from "../config/config.ts";
import { invalid } from "../model/errors.ts";
import { checkLocationId } from "../model/location.ts";
import { show } from "../model/validate.ts";
import { openDataDir } from "../runtime/data-dir.ts";
import type { Store } from "../store/store.ts";
import { audit, withStore } from "./command.ts";
import type { Command } from "./command.ts";

export const addLocation: Command = {
  takesId: true,
  options: ["label", "region"],
  async run({ config, id, values, print }) {
    if (id === undefined)
      throw invalid("locations add needs an id, for example `sonde locations add paris`");
    checkLocationId(id);
    const { label = id, region = "" } = values;
    await withStore(config, async (store) => {
      if (!(await insertLocation(store, { id, label, region })))
        throw invalid(`location ${show(id)} already exists; \`sonde locations list\` shows it`);
      print(await agentEnvironment(store, config, id));
    });
  },
};

export const listLocations: Command = {
  run: ({ config, print }) =>
    withStore(config, async (store) => {
      for (const { id, label, region } of await store.locations.list())
        print(`${JSON.stringify({ id, label, region })}\n`);
    }),
};

export const printAgentEnvironment: Command = {
  takesId: true,
  run: ({ config, id = "", print }) =>
    withStore(config, async (store) => {
      const locations = await store.locations.list();
      if (!locations.some((location) => location.id === id))
        throw invalid(`no location ${show(id)}; \`sonde locations list\` shows them`);
      const environment = await agentEnvironment(store, config, id);
      await audit(store, { action: "read", kind: "location_key", object_id: id });
      print(environment);
    }),
};

/** False when the location already exists. */
async function insertLocation(
  store: Store,
  location: { readonly id: string; readonly label: string; readonly region: string },
): Promise<boolean> {
  const time = await store.now();
  return store.transaction(async (within) => {
    if (!(await within.locations.insert({ ...location, created: time }))) return false;
    await audit(within, { action: "create", kind: "location", object_id: location.id });
    return true;
  });
}

/**
 * Rejects when this process lacks the store's master key, which would derive a wrong location key.
 */
async function agentEnvironment(store: Store, config: Config, id: string): Promise<string> {
  const { locationKeysOf } = await import("../compose/store.ts");
  await store.masterKeys.claim();
  const [key = new Uint8Array()] = locationKeysOf(
    { ...config, location: id, locationKeys: undefined },
    openDataDir(config.dataDir),
    { hasMaster: true },
  );
  const nats = config.natsUrls?.join(",") ?? "nats://<host>:4222";
  return [
    `# Environment of an agent at location ${id}: sonde serve`,
    "SONDE_ROLES=agent",
    `SONDE_LOCATION=${id}`,
    `SONDE_LOCATION_KEY=${Buffer.from(key).toString("base64")}`,
    `SONDE_NATS_URL=${quoted(nats)}`,
    "",
  ].join("\n");
}

/** Quotes a value for shells and readers of environment files, if it needs quotes. */
const quoted = (value: string): string =>
  /^[\w@%+:,./-]*$/.test(value) ? value : `'${value.replaceAll("'", String.raw`'\''`)}'`;
