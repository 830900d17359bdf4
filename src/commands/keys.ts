// `sonde keys`: creates, lists and revokes API keys, creates sign-in links, and rotates the master
// key.
import { Option } from "commander";
import type { Command } from "commander";
import { FIRST_OWNER } from "../compose/first-start.ts";
import { issueKey, revokeKey as revoke } from "../compose/issue-key.ts";
import type { IssuedKey } from "../compose/issue-key.ts";
import { ACCESS_LEVELS } from "../model/access.ts";
import type { AccessLevel } from "../model/access.ts";
import { invalid } from "../model/errors.ts";
import { Name } from "../model/fields.ts";
import { formatInstant } from "../model/instant.ts";
import { shellWord } from "../model/shell-word.ts";
import { Type } from "../model/type.ts";
import { createValidator, show } from "../model/validate.ts";
import type { ApiKey } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { localUrl } from "./api-client.ts";
import { examples, say } from "./command.ts";
import type { Context } from "./command.ts";
import { actorIn, addOwnerOptions } from "./option-values.ts";
import type { OwnerOptions } from "./option-values.ts";
import { ACTOR, audit, withNewStore, withStore } from "./with-store.ts";

const PAGE = 1000;

interface KeyOptions extends OwnerOptions {
  readonly name?: string;
  readonly level: AccessLevel;
}

export function addKeyCommands(program: Command, context: Context): void {
  const keys = program
    .command("keys")
    .description("Create, list and revoke API keys; sign in with a link; rotate the master key.");
  addOwnerOptions(
    keys
      .command("create")
      .description("Create an API key and print it: it is shown only once.")
      .addOption(
        new Option("--level <level>", "what it may do").choices(ACCESS_LEVELS).default("VIEWER"),
      )
      .option("--name <name>", "what it is for (default: none)", nameOfKey),
    `owner of the key (default: ${FIRST_OWNER})`,
  )
    .addHelpText(
      "after",
      examples(
        "sonde keys create --level EDITOR --name 'Build server'",
        "sonde keys create --owner ann --org acme",
      ),
    )
    .action((options: KeyOptions) => createKey(context, options));
  keys
    .command("list")
    .description("List the active keys without their secrets, one JSON object per line.")
    .addHelpText("after", examples("sonde keys list"))
    .action(() => listKeys(context));
  keys
    .command("revoke")
    .description("Revoke a key: requests with it are refused from now on.")
    .argument("<id>", "a key's id, from `sonde keys list`")
    .addHelpText("after", examples("sonde keys revoke 0-first-key"))
    .action((id: string) => revokeKey(context, id));
  keys
    .command("link")
    .description("Print a link that signs a browser in to the web pages, once, within an hour.")
    .argument(
      "[id]",
      "the key to sign in with: its id, from `sonde keys list` (default: the first OWNER key)",
    )
    .addHelpText("after", examples("sonde keys link", "sonde keys link 01m82p1fccsz5m3pp6y49fp54w"))
    .action((id: string | undefined) => printLink(context, id));
  keys
    .command("rotate-master")
    .description("Re-encrypt every secret with the current master key: see docs/security.md.")
    .addHelpText("after", examples("sonde keys rotate-master"))
    .action(() => rotateMaster(context));
}

const named = createValidator(Type.Object({ name: Name }));

function nameOfKey(name: string): string {
  const [fault] = named.faults({ name });
  if (fault !== undefined) throw invalid(`--${fault}`);
  return name;
}

async function createKey({ config, print }: Context, options: KeyOptions): Promise<void> {
  const { level: access_level, name } = options;
  const { owner, org } = actorIn(options) ?? { owner: FIRST_OWNER, org: null };
  await withNewStore(config(), async (store) => {
    const issued = await issueKey(store, ACTOR, { owner, org, access_level, name });
    const { key_id: id, api_key, ...key } = issued as IssuedKey; // a new id is never taken
    print(`${JSON.stringify({ id, api_key, ...key })}\n`);
  });
}

const listKeys = ({ config, print }: Context) =>
  withStore(config(), async (store) => {
    for await (const { key_id: id, owner, org, access_level, name, created } of activeKeys(store)) {
      const line = { id, owner, org, access_level, name, created: formatInstant(created) };
      print(`${JSON.stringify(line)}\n`);
    }
  });

/** Yields the keys of all owners, the oldest first. */
async function* activeKeys({ apiKeys }: Store): AsyncGenerator<ApiKey> {
  let after: string | undefined = "";
  while (after !== undefined) {
    const keys = await apiKeys.list(null, { after, limit: PAGE });
    yield* keys;
    after = keys.length < PAGE ? undefined : keys.at(-1)?.key_id;
  }
}

const revokeKey = ({ config, print }: Context, id: string) =>
  withStore(config(), async (store) => {
    const key = await store.apiKeys.find(id);
    if (!key || !(await revoke(store, ACTOR, id))) throw notActive(id);
    print(`key ${id} revoked\n`);
    if ((await store.apiKeys.countOf(key)) > 0) return;
    const { owner, org } = key;
    const by = `--level OWNER --owner ${shellWord(owner)}${org === null ? "" : ` --org ${shellWord(org)}`}`;
    say(
      `it was the last key of this owner: their deployments do not run until they have another, \`sonde keys create ${by}\``,
    );
  });

const notActive = (id: string): Error =>
  invalid(`no active key ${show(id)}; \`sonde keys list\` shows them`);

async function printLink(
  { config: configured, print }: Context,
  given: string | undefined,
): Promise<void> {
  const config = configured();
  const url = config.publicUrl ?? localUrl(config, "SONDE_PUBLIC_URL to the pages' address");
  // Loaded here: the other commands start faster without it.
  const { signInLink } = await import("../compose/sign-in-link.ts");
  await withStore(config, async (store) => {
    const keyId = given ?? (await firstOwnerKey(store));
    if (keyId === undefined)
      throw invalid("no active OWNER key; create one: `sonde keys create --level OWNER`");
    const link = await signInLink(store, ACTOR, { keyId, url });
    if (link === undefined) throw notActive(keyId);
    print(`${link}\n`);
  });
}

/** Returns the id of the oldest active OWNER key. */
async function firstOwnerKey(store: Store): Promise<string | undefined> {
  for await (const { key_id, access_level } of activeKeys(store))
    if (access_level === "OWNER") return key_id;
  return undefined;
}

/** Re-encrypts every stored secret with the current master key; the service may keep running. */
const rotateMaster = ({ config, print }: Context) =>
  withStore(config(), async (store) => {
    const { masterKeys } = store;
    await masterKeys.claim();
    await audit(store, { action: "rotate", kind: "master_key", object_id: masterKeys.keyId });
    await masterKeys.rotate(({ what, checked, resealed }) =>
      print(`${what}: ${checked} checked, ${resealed} re-encrypted\n`),
    );
    print(
      "every secret is encrypted with the current master key: SONDE_MASTER_KEYS_OLD can be removed\n",
    );
  });
