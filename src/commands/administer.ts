// The commands that read or change the store and end: migrate, keys, locations, audit.
import type { ParsedOptions } from "./arguments.ts";
import { listAudit } from "./audit.ts";
import { agentEnvironment, showLocation } from "./locations.ts";
import { rotateMaster } from "./rotate-master.ts";
import { openConfiguredStore } from "../compose/store.ts";
import type { Config } from "../config/config.ts";
import { openDataDir } from "../runtime/data-dir.ts";
import { FIRST_OWNER } from "../compose/first-start.ts";
import { issueKey, revokeKey as revokeLocally } from "../compose/issue-key.ts";
import type { IssuedKey } from "../compose/issue-key.ts";
import { ACCESS_LEVELS } from "../model/access.ts";
import type { AccessLevel } from "../model/access.ts";
import { invalid } from "../model/errors.ts";
import { formatInstant } from "../model/instant.ts";
import { locationIdValidator } from "../model/location.ts";
import { show } from "../model/validate.ts";
import { createLogger } from "../runtime/logger.ts";
import type { Store } from "../store/store.ts";

export interface Administration {
  readonly config: Config;
  readonly print: (text: string) => void;
}

type Work = (store: Store, options: ParsedOptions, administration: Administration) => Promise<void>;

const ACTOR = "command line";

/** By the words of the command line. */
export const ADMINISTRATION: Readonly<Record<string, Work>> = {
  migrate: async (_store, _options, { print }) => print("the database schema is up to date\n"),
  "keys create": createKey,
  "keys list": listKeys,
  "keys revoke": revokeKey,
  "keys rotate-master": rotateMaster,
  "locations add": addLocation,
  "locations list": listLocations,
  "locations env": showLocation,
  "audit list": listAudit,
};

export async function administer(
  work: Work,
  options: ParsedOptions,
  administration: Administration,
): Promise<void> {
  const { config } = administration;
  const store = await openConfiguredStore(
    config,
    openDataDir(config.dataDir),
    createLogger("silent"),
    { usesSecrets: false },
  );
  try {
    await work(store, options, administration);
  } finally {
    await store.close();
  }
}

async function createKey(
  store: Store,
  { values }: ParsedOptions,
  { print }: Administration,
): Promise<void> {
  const access_level = (values.level ?? "VIEWER") as AccessLevel;
  if (!ACCESS_LEVELS.includes(access_level))
    throw invalid(`--level: ${show(values.level)} is not one of ${ACCESS_LEVELS.join(", ")}`);
  const { owner = FIRST_OWNER, org = null } = values;
  const issued = await issueKey(store, ACTOR, { owner, org, access_level });
  const { key_id, api_key } = issued as IssuedKey; // its id is new
  print(`${JSON.stringify({ id: key_id, api_key, owner, org, access_level })}\n`);
}

async function listKeys(
  store: Store,
  _options: ParsedOptions,
  { print }: Administration,
): Promise<void> {
  for (let after = ""; ;) {
    const keys = await store.apiKeys.list(null, { after, limit: 1000 });
    for (const { key_id, owner, org, access_level, created } of keys)
      print(
        `${JSON.stringify({ id: key_id, owner, org, access_level, created: formatInstant(created) })}\n`,
      );
    const last = keys.at(-1);
    if (!last || keys.length < 1000) return;
    after = last.key_id;
  }
}

async function revokeKey(
  store: Store,
  { words }: ParsedOptions,
  { print }: Administration,
): Promise<void> {
  const [id] = words;
  if (id === undefined)
    throw invalid("keys revoke needs the id of a key; `sonde keys list` shows them");
  if (!(await revokeLocally(store, ACTOR, id)))
    throw invalid(`${show(id)} is no key in force; \`sonde keys list\` shows them`);
  print(`key ${id} is revoked\n`);
}

async function addLocation(
  store: Store,
  { words, values }: ParsedOptions,
  administration: Administration,
): Promise<void> {
  const [id] = words;
  if (id === undefined)
    throw invalid("locations add needs an id, such as `sonde locations add paris`");
  if (!locationIdValidator.accepts(id))
    throw invalid(`${show(id)} is not a location id (1 to 64 letters, digits, _ or -)`);
  const { label = id, region = "" } = values;
  const time = await store.now();
  const isNew = await store.transaction(async (within) => {
    const location = { id, label, region, created: time };
    if (!(await within.locations.insert(location))) return false;
    await within.audit.record({
      time,
      actor: ACTOR,
      owner: null,
      address: null,
      action: "create",
      kind: "location",
      object_id: id,
      fields: [],
    });
    return true;
  });
  if (!isNew)
    throw invalid(`there is a location ${show(id)} already; \`sonde locations list\` shows them`);
  const { config, print } = administration;
  print(await agentEnvironment(store, config, id));
}

async function listLocations(
  store: Store,
  _options: ParsedOptions,
  { print }: Administration,
): Promise<void> {
  for (const { id, label, region } of await store.locations.list())
    print(`${JSON.stringify({ id, label, region })}\n`);
}
