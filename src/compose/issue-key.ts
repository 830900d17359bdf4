// Keys that are issued and revoked on this machine rather than through the API.
import { hashApiKey, newApiKey } from "../runtime/api-key.ts";
import { newId } from "../runtime/ids.ts";
import type { Principal } from "../model/access.ts";
import type { Store } from "../store/store.ts";

/** As the audit trail names it. */
export type LocalActor = "command line" | "first start" | "demo";

export interface IssuedKey extends Principal {
  /** Nobody can be told it again. */
  readonly api_key: string;
}

export interface KeyOrder extends Omit<Principal, "key_id"> {
  /** Made up where it is left out, as is the key itself. */
  readonly key_id?: string;
  readonly api_key?: string | undefined;
}

/** Undefined when there is a key with this id already. */
export const issueKey = (
  store: Store,
  actor: LocalActor,
  order: KeyOrder,
): Promise<IssuedKey | undefined> =>
  store.transaction(async (within) => {
    const time = await within.now();
    const { api_key = newApiKey(), key_id = newId(time), owner, org, access_level } = order;
    const principal = { key_id, owner, org, access_level };
    const isNew = await within.apiKeys.insert(
      { ...principal, created: time, last_update: time, revoked: false },
      hashApiKey(api_key),
    );
    if (!isNew) return undefined;
    await within.audit.record({
      time,
      actor,
      owner,
      address: null,
      action: "issue",
      kind: "api_key",
      object_id: key_id,
      fields: [],
    });
    return { ...principal, api_key };
  });

/** False when there was no such key in force. */
export const revokeKey = (store: Store, actor: LocalActor, id: string): Promise<boolean> =>
  store.transaction(async (within) => {
    const time = await within.now();
    if (!(await within.apiKeys.revoke(id, null, time))) return false;
    await within.audit.record({
      time,
      actor,
      owner: null,
      address: null,
      action: "revoke",
      kind: "api_key",
      object_id: id,
      fields: [],
    });
    return true;
  });
