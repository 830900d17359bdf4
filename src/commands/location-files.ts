// What `sonde locations env` and `nats-config` write: the environment and the credentials of a
// location's agents, the accounts of NATS, and the hub's NATS user.
import { basename } from "node:path";
import type { LocationAccess } from "../compose/location-access.ts";
import type { Config } from "../config/config.ts";
import { invalid } from "../model/errors.ts";
import { assignment } from "../model/shell-word.ts";
import { show } from "../model/validate.ts";
import { openDataDir } from "../runtime/data-dir.ts";
import type { StoredLocation } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import type { Context } from "./command.ts";
import { writeBundle } from "./location-bundle.ts";
import { audit, withNewStore, withStore } from "./with-store.ts";
import { writeFiles } from "./written-files.ts";
import type { WrittenFile } from "./written-files.ts";

/** Where to write the environment of agents; stdout by default. */
export interface HandOver {
  /** A folder. */
  readonly out?: string | undefined;
  /** An archive. */
  readonly bundle?: string | undefined;
}

export async function printAgentEnvironment(
  context: Context,
  id: string,
  options: HandOver,
): Promise<void> {
  const config = context.config();
  await withStore(config, async (store) => {
    const location = await findLocation(store, id);
    await audit(store, { action: "read", kind: "location_key", object_id: id });
    await handOver(store, { config, location, options, print: context.print });
  });
}

export async function writeNatsConfig(context: Context, { out }: HandOver): Promise<void> {
  const config = context.config();
  await withNewStore(config, async (store) => {
    const access = await openLocationAccess(store, config);
    const accounts = access.natsAccounts(await store.locations.list(), await store.now());
    if (out === undefined) return context.print(accounts);
    await audit(store, { action: "read", kind: "nats_user", object_id: "hub" });
    const paths = writeFiles(out, [
      { name: "accounts.conf", content: accounts },
      { name: "hub.nk", content: `${access.hubNatsSeed()}\n`, isSecret: true },
    ]);
    for (const path of paths) context.print(`wrote ${path}\n`);
  });
}

/** Throws for a location that does not exist, or was removed. */
export async function findLocation(store: Store, id: string): Promise<StoredLocation> {
  const location = (await store.locations.list()).find((one) => one.id === id);
  if (location) return location;
  throw invalid(`no location ${show(id)}; \`sonde locations list\` shows them`);
}

/** Rejects without the store's master key: another one would derive wrong credentials. */
async function openLocationAccess(store: Store, config: Config): Promise<LocationAccess> {
  // Loaded here: most commands need no NATS client.
  const { createLocationAccess } = await import("../compose/location-access.ts");
  await store.masterKeys.claim();
  return createLocationAccess(config, openDataDir(config.dataDir));
}

/** Prints the environment of a location's agents, or writes it as files or as an archive. */
export async function handOver(
  store: Store,
  {
    config,
    location,
    options: { out, bundle },
    print,
  }: {
    readonly config: Config;
    readonly location: StoredLocation;
    readonly options: HandOver;
    readonly print: Context["print"];
  },
): Promise<void> {
  const environment = await agentEnvironment(store, config, location);
  if (out === undefined && bundle === undefined) return print(environment.text());
  if (out !== undefined)
    for (const path of writeFiles(out, environment.files())) print(`wrote ${path}\n`);
  if (bundle === undefined) return;
  writeBundle(bundle, location.id, environment.files(), await store.now());
  print(`wrote ${bundle}, which holds the credentials of ${location.id}
1. Admit it to NATS: \`sonde locations nats-config --out …\`, then reload NATS twice (nats-server --signal reload).
2. On the machine there: tar -xf ${basename(bundle)}, and follow ${location.id}/README.md.
`);
}

async function agentEnvironment(store: Store, config: Config, location: StoredLocation) {
  const access = await openLocationAccess(store, config);
  const keys = access.keysOf(location, await store.now());
  const key = keys.map((each) => Buffer.from(each).toString("base64")).join(",");
  const seed = access.natsSeedOf(location);
  const ca = config.natsCa;
  const settings = (credentials: readonly string[]): string =>
    [
      `# Environment of an agent at location ${location.id}: sonde serve`,
      "SONDE_ROLES=agent",
      `SONDE_LOCATION=${location.id}`,
      ...credentials,
      assignment("SONDE_NATS_URL", natsUrlsOf(config)),
      "",
    ].join("\n");
  return {
    /** Everything in one text. */
    text: () =>
      settings([
        `SONDE_LOCATION_KEY=${key}`,
        `SONDE_NATS_NKEY=${seed}`,
        ...(ca === undefined ? [] : [assignment("SONDE_NATS_CA", ca)]),
      ]),
    /** The environment names the other files without a folder: the agent starts in theirs. */
    files: (): WrittenFile[] =>
      [
        {
          name: "agent.env",
          content: settings([
            "SONDE_LOCATION_KEY_FILE=location-key",
            "SONDE_NATS_NKEY_FILE=nats.nk",
            ...(ca === undefined ? [] : ["SONDE_NATS_CA_FILE=nats-ca.pem"]),
          ]),
        },
        { name: "location-key", content: `${key}\n` },
        { name: "nats.nk", content: `${seed}\n` },
        ...(ca === undefined ? [] : [{ name: "nats-ca.pem", content: `${ca}\n` }]),
      ].map((file) => ({ ...file, isSecret: true })),
  };
}

/** Returns the URLs without the hub's user and password: agents have their own. */
function natsUrlsOf({ natsUrls }: Config): string {
  if (!natsUrls) return "nats://<host>:4222";
  const urls = natsUrls.map((text) => {
    const { protocol, host } = new URL(text);
    return `${protocol}//${host}`;
  });
  return urls.join(",");
}
