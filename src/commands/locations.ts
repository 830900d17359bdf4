// `sonde locations`: adds, lists and removes locations, and rotates their keys.
import { invalid } from "../model/errors.ts";
import { formatInstant } from "../model/instant.ts";
import { checkLocationId } from "../model/location.ts";
import type { Location } from "../model/location.ts";
import { DEFAULT_GRACE_HOURS, keyVersionsAt } from "../model/location-key.ts";
import { show } from "../model/validate.ts";
import type { StoredLocation } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { audit, withStore } from "./command.ts";
import type { Command } from "./command.ts";
import { findLocation, handOver } from "./location-files.ts";

export const addLocation: Command = {
  takesId: true,
  options: ["label", "region", "bundle"],
  async run({ config, id, values, print }) {
    if (id === undefined)
      throw invalid("locations add needs an id, for example `sonde locations add paris`");
    checkLocationId(id);
    const { label = id, region = "", bundle } = values;
    await withStore(config, async (store) => {
      const location = await insertLocation(store, { id, label, region });
      await handOver(store, { config, location, values: { bundle }, print });
    });
  },
};

export const listLocations: Command = {
  run: ({ config, print }) =>
    withStore(config, async (store) => {
      const now = await store.now();
      for (const location of await store.locations.list()) {
        const { id, label, region, key_version, key_changed } = location;
        const isChanging = keyVersionsAt(location, now).opening.length > 1;
        const previous_key_until = isChanging ? formatInstant(key_changed ?? now) : null;
        print(`${JSON.stringify({ id, label, region, key_version, previous_key_until })}\n`);
      }
    }),
};

const HOUR_MS = 3_600_000;
const MAX_GRACE_HOURS = 720;

export const rotateLocationKey: Command = {
  takesId: true,
  options: ["grace"],
  run: ({ config, id = "", values: { grace }, print }) =>
    withStore(config, async (store) => {
      const hours = graceOf(grace);
      const location = await findLocation(store, id);
      const now = await store.now();
      if (hours > 0 && keyVersionsAt(location, now).opening.length > 1)
        throw invalid(
          `location ${show(id)} has two valid keys until ${formatInstant(location.key_changed ?? now)}: rotate it again after that, or now with --grace 0, which cuts off agents that have an earlier key`,
        );
      const changed = now + hours * HOUR_MS;
      await store.transaction(async (within) => {
        if (!(await within.locations.rotateKey(location, changed)))
          throw invalid(`another rotation of location ${show(id)} was first`);
        await audit(within, { action: "rotate", kind: "location_key", object_id: id });
      });
      print(rotated(location, hours, changed));
    }),
};

export const removeLocation: Command = {
  takesId: true,
  run: ({ config, id = "", print }) =>
    withStore(config, async (store) => {
      await store.transaction(async (within) => {
        await findLocation(within, id);
        const deployments = await within.locations.deploymentsAt(id);
        if (deployments > 0)
          throw invalid(
            `location ${show(id)} has ${deployments} deployment${deployments === 1 ? "" : "s"}: delete or move ${deployments === 1 ? "it" : "them"} first`,
          );
        if ((await within.locations.list()).length === 1)
          throw invalid(`location ${show(id)} is the only one: add another one first`);
        await within.locations.remove(id, await within.now());
        await audit(within, { action: "delete", kind: "location", object_id: id });
      });
      print(`location ${id} was removed; its results stay. ${RELOAD} cuts off its agents.\n`);
    }),
};

/** Throws when the location exists, or existed. */
async function insertLocation(store: Store, location: Location): Promise<StoredLocation> {
  const { id } = location;
  const created = await store.now();
  return store.transaction(async (within) => {
    if (!(await within.locations.insert({ ...location, created }))) {
      const known = (await within.locations.list()).some((one) => one.id === id);
      throw invalid(
        known
          ? `location ${show(id)} already exists; \`sonde locations list\` shows it`
          : `location ${show(id)} was removed, and its results still name it: choose another id`,
      );
    }
    await audit(within, { action: "create", kind: "location", object_id: id });
    return findLocation(within, id);
  });
}

function graceOf(text = String(DEFAULT_GRACE_HOURS)): number {
  const hours = Number(text);
  if (/^\d{1,3}$/.test(text) && hours <= MAX_GRACE_HOURS) return hours;
  throw invalid(
    `--grace: ${show(text)} is not a whole number of hours from 0 to ${MAX_GRACE_HOURS}`,
  );
}

const RELOAD = "`sonde locations nats-config --out …` and a reload of NATS";

const rotated = ({ id, key_version }: StoredLocation, hours: number, changed: number): string =>
  hours === 0
    ? `location ${id} has key version ${key_version + 1}; the previous key is not valid any more.
1. ${RELOAD} let the new NATS user in and the previous one out.
2. Give the files of \`sonde locations env ${id} --out …\` to the location's agents and restart them.
`
    : `location ${id} has key version ${key_version + 1}; the previous key is valid until ${formatInstant(changed)}.
1. ${RELOAD} let the new NATS user in.
2. Before that time, give the files of \`sonde locations env ${id} --out …\` to the location's agents
   and restart them.
3. After it, do step 1 once more: it lets the previous NATS user out.
`;
