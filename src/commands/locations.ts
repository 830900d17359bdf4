// `sonde locations env`: what an agent of a location needs to know.
import { locationKeysOf } from "../compose/store.ts";
import type { Config } from "../config/config.ts";
import { openDataDir } from "../runtime/data-dir.ts";
import { invalid } from "../model/errors.ts";
import { show } from "../model/validate.ts";
import type { Store } from "../store/store.ts";
import type { ParsedOptions } from "./arguments.ts";

/**
 * Rejects where this process does not have the master key of the store: the location's key would be
 * a wrong one.
 */
export async function agentEnvironment(store: Store, config: Config, id: string): Promise<string> {
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

/** For a shell and for readers of environment files; only where it needs to be. */
const quoted = (value: string): string =>
  /^[\w@%+:,./-]*$/.test(value) ? value : `'${value.replaceAll("'", String.raw`'\''`)}'`;

export async function showLocation(
  store: Store,
  { words: [id = ""] }: ParsedOptions,
  {
    config,
    print,
  }: {
    readonly config: Config;
    readonly print: (text: string) => void;
  },
): Promise<void> {
  const locations = await store.locations.list();
  if (!locations.some((location) => location.id === id))
    throw invalid(`there is no location ${show(id)}; \`sonde locations list\` shows them`);
  print(await agentEnvironment(store, config, id));
}
