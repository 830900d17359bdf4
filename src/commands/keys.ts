// `sonde keys`: creates, lists and revokes API keys, and rotates the master key.
import { FIRST_OWNER } from "../compose/first-start.ts";
import { issueKey, revokeKey as revoke } from "../compose/issue-key.ts";
import type { IssuedKey } from "../compose/issue-key.ts";
import { ACCESS_LEVELS } from "../model/access.ts";
import type { AccessLevel } from "../model/access.ts";
import { invalid } from "../model/errors.ts";
import { formatInstant } from "../model/instant.ts";
import { show } from "../model/validate.ts";
import { ACTOR, actorIn, audit, withStore } from "./command.ts";
import type { Command } from "./command.ts";

const PAGE = 1000;

export const createKey: Command = {
  options: ["level", "owner", "org"],
  async run({ config, values, print }) {
    const access_level = (values.level ?? "VIEWER") as AccessLevel;
    if (!ACCESS_LEVELS.includes(access_level))
      throw invalid(`--level: ${show(values.level)} is not one of ${ACCESS_LEVELS.join(", ")}`);
    const { owner, org } = actorIn(values) ?? { owner: FIRST_OWNER, org: null };
    await withStore(config, async (store) => {
      const issued = await issueKey(store, ACTOR, { owner, org, access_level });
      const { key_id, api_key } = issued as IssuedKey; // a new id is never taken
      print(`${JSON.stringify({ id: key_id, api_key, owner, org, access_level })}\n`);
    });
  },
};

export const listKeys: Command = {
  run: ({ config, print }) =>
    withStore(config, async (store) => {
      let after: string | undefined = "";
      while (after !== undefined) {
        const keys = await store.apiKeys.list(null, { after, limit: PAGE });
        for (const { key_id, created, owner, org, access_level } of keys) {
          const line = { id: key_id, owner, org, access_level, created: formatInstant(created) };
          print(`${JSON.stringify(line)}\n`);
        }
        after = keys.length < PAGE ? undefined : keys.at(-1)?.key_id;
      }
    }),
};

export const revokeKey: Command = {
  takesId: true,
  async run({ config, id, print }) {
    if (id === undefined) throw invalid("keys revoke needs a key id; `sonde keys list` shows them");
    await withStore(config, async (store) => {
      if (!(await revoke(store, ACTOR, id)))
        throw invalid(`no active key ${show(id)}; \`sonde keys list\` shows them`);
      print(`key ${id} revoked\n`);
    });
  },
};

/** Re-encrypts every stored secret with the current master key; the service may keep running. */
export const rotateMaster: Command = {
  run: ({ config, print }) =>
    withStore(config, async (store) => {
      const { masterKeys } = store;
      await masterKeys.claim();
      await audit(store, { action: "rotate", kind: "master_key", object_id: masterKeys.keyId });
      await masterKeys.rotate(({ what, checked, resealed }) =>
        print(`${what}: ${checked} checked, ${resealed} re-encrypted\n`),
      );
      print(
        "every secret is encrypted with the current master key: SONDE_MASTER_KEYS_OLD can be removed\n",
      );
    }),
};
