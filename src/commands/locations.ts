// `sonde locations`: adds, lists and removes locations, and rotates their keys.
import type { Command } from "commander";
import { count } from "../model/count.ts";
import { invalid } from "../model/errors.ts";
import { formatInstant } from "../model/instant.ts";
import { checkLocationId } from "../model/location.ts";
import type { Location } from "../model/location.ts";
import { DEFAULT_GRACE_HOURS, keyVersionsAt } from "../model/location-key.ts";
import { HOUR_MS } from "../model/periods.ts";
import { show } from "../model/validate.ts";
import type { StoredLocation } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { examples } from "./command.ts";
import type { Context } from "./command.ts";
import {
  findLocation,
  handOver,
  printAgentEnvironment,
  writeNatsConfig,
} from "./location-files.ts";
import type { HandOver } from "./location-files.ts";
import { wholeNumberOf } from "./option-values.ts";
import { audit, withNewStore, withStore } from "./with-store.ts";

const MAX_GRACE_HOURS = 720;
const AN_ID = "a location's id, from `sonde locations list`";

interface AddOptions {
  readonly label?: string;
  readonly region: string;
  readonly bundle?: string;
}

export function addLocationCommands(program: Command, context: Context): void {
  const locations = program
    .command("locations")
    .description("Add, list and remove locations, and set up their agents.");
  locations
    .command("add")
    .description("Add a location, and print the environment of its agents.")
    .argument("<id>", "1 to 64 letters, digits, _ or -")
    .option("--label <text>", "display name (default: the id)")
    .option("--region <text>", "where it is", "")
    .option("--bundle <file.tar>", "write everything that its machine needs, instead of printing")
    .addHelpText(
      "after",
      examples(
        "sonde locations add paris --label Paris --region eu",
        "sonde locations add paris --bundle paris.tar",
      ),
    )
    .action((id: string, options: AddOptions) => addLocation(context, id, options));
  locations
    .command("list")
    .description("List the locations, one JSON object per line.")
    .addHelpText("after", examples("sonde locations list"))
    .action(() => listLocations(context));
  addHandOverCommands(locations, context);
  addChangeCommands(locations, context);
}

function addHandOverCommands(locations: Command, context: Context): void {
  locations
    .command("env")
    .description("Print the environment of the location's agents, or write it as files.")
    .argument("<id>", AN_ID)
    .option("--out <folder>", "write files into this folder")
    .option("--bundle <file.tar>", "write everything that its machine needs")
    .addHelpText(
      "after",
      examples("sonde locations env paris", "sonde locations env paris --out agents/paris"),
    )
    .action((id: string, options: HandOver) => printAgentEnvironment(context, id, options));
  locations
    .command("nats-config")
    .description("Print the NATS accounts, or write them and the hub's user.")
    .option("--out <folder>", "write files into this folder")
    .addHelpText("after", examples("sonde locations nats-config --out nats"))
    .action((options: HandOver) => writeNatsConfig(context, options));
}

function addChangeCommands(locations: Command, context: Context): void {
  locations
    .command("rotate")
    .description("Rotate the location's keys: see docs/regions.md.")
    .argument("<id>", AN_ID)
    .option(
      "--grace <hours>",
      "how long the previous keys stay valid",
      wholeNumberOf("--grace", 0, MAX_GRACE_HOURS, "hours"),
      DEFAULT_GRACE_HOURS,
    )
    .addHelpText(
      "after",
      examples("sonde locations rotate paris", "sonde locations rotate paris --grace 0"),
    )
    .action((id: string, options: RotateOptions) => rotateLocationKey(context, id, options));
  locations
    .command("remove")
    .description("Remove a location without deployments; its results stay.")
    .argument("<id>", AN_ID)
    .addHelpText("after", examples("sonde locations remove paris"))
    .action((id: string) => removeLocation(context, id));
}

async function addLocation(
  { config, print }: Context,
  id: string,
  { label = id, region, bundle }: AddOptions,
): Promise<void> {
  checkLocationId(id);
  const settings = config();
  // If the hand-over fails, for example because the file exists, no location is added.
  await withNewStore(settings, (store) =>
    store.transaction(async (within) => {
      const location = await insertLocation(within, { id, label, region });
      await handOver(within, { config: settings, location, options: { bundle }, print });
    }),
  );
}

const listLocations = ({ config, print }: Context) =>
  withStore(config(), async (store) => {
    const now = await store.now();
    for (const location of await store.locations.list()) {
      const { id, label, region, key_version, key_changed } = location;
      const isChanging = keyVersionsAt(location, now).opening.length > 1;
      const previous_key_until = isChanging ? formatInstant(key_changed ?? now) : null;
      print(`${JSON.stringify({ id, label, region, key_version, previous_key_until })}\n`);
    }
  });

interface RotateOptions {
  /** Hours. */
  readonly grace: number;
}

const rotateLocationKey = ({ config, print }: Context, id: string, { grace }: RotateOptions) =>
  withStore(config(), async (store) => {
    const location = await findLocation(store, id);
    const now = await store.now();
    if (grace > 0 && keyVersionsAt(location, now).opening.length > 1)
      throw invalid(
        `location ${show(id)} has two valid keys until ${formatInstant(location.key_changed ?? now)}: rotate it again after that, or now with --grace 0, which cuts off agents that have an earlier key`,
      );
    const changed = now + grace * HOUR_MS;
    await store.transaction(async (within) => {
      if (!(await within.locations.rotateKey(location, changed)))
        throw invalid(`location ${show(id)} was rotated by another command meanwhile`);
      await audit(within, { action: "rotate", kind: "location_key", object_id: id });
    });
    print(rotated(location, grace, changed));
  });

const removeLocation = ({ config, print }: Context, id: string) =>
  withStore(config(), async (store) => {
    await store.transaction(async (within) => {
      await within.locations.lockAll();
      await findLocation(within, id);
      const deployments = await within.locations.deploymentsAt(id);
      if (deployments > 0)
        throw invalid(
          `location ${show(id)} has ${count(deployments, "deployment")}: delete or move ${deployments === 1 ? "it" : "them"} first`,
        );
      if ((await within.locations.list()).length === 1)
        throw invalid(`location ${show(id)} is the only one: add another one first`);
      await within.locations.remove(id, await within.now());
      await audit(within, { action: "delete", kind: "location", object_id: id });
    });
    print(`location ${id} was removed; its results stay. ${RELOAD} cut off its agents.\n`);
  });

/** Throws when the location exists, or existed. Call it in a transaction. */
async function insertLocation(within: Store, location: Location): Promise<StoredLocation> {
  const { id } = location;
  if (!(await within.locations.insert({ ...location, created: await within.now() }))) {
    const known = (await within.locations.list()).some((one) => one.id === id);
    throw invalid(
      known
        ? `location ${show(id)} already exists; \`sonde locations list\` shows it`
        : `location ${show(id)} was removed, and its results still name it: choose another id`,
    );
  }
  await audit(within, { action: "create", kind: "location", object_id: id });
  return findLocation(within, id);
}

const RELOAD = "`sonde locations nats-config --out …` and a reload of NATS";

const rotated = ({ id, key_version }: StoredLocation, hours: number, changed: number): string =>
  hours === 0
    ? `location ${id} has key version ${key_version + 1}; the previous key is no longer valid.
1. ${RELOAD} let the new NATS user in and the previous one out.
2. Give the keys of \`sonde locations env ${id} --out …\` to the location's agents and restart them.
`
    : `location ${id} has key version ${key_version + 1}; the previous key is valid until ${formatInstant(changed)}.
1. ${RELOAD} let the new NATS user in.
2. Before that time, give the keys of \`sonde locations env ${id} --out …\` to the location's agents
   and restart them.
3. After that time, repeat step 1 to remove the previous NATS user.
`;
