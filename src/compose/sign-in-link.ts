// Makes a link to the web pages that signs in without a key, once.
import { newSignInCode } from "../api/sessions.ts";
import type { Store } from "../store/store.ts";
import type { LocalActor } from "./issue-key.ts";

/**
 * Makes a link that signs in as this key, within an hour. Undefined if there is no such active key.
 */
export const signInLink = (
  store: Store,
  actor: LocalActor,
  { keyId, url }: { readonly keyId: string; readonly url: string },
): Promise<string | undefined> =>
  store.transaction(async (within) => {
    const key = await within.apiKeys.find(keyId);
    if (!key) return undefined;
    const { owner, org } = key;
    const code = await newSignInCode(within, keyId);
    await within.audit.record({
      time: await within.now(),
      actor,
      owner,
      org,
      address: null,
      action: "issue",
      kind: "sign_in",
      object_id: keyId,
      fields: [],
    });
    // Browsers do not send what follows the #, so no log has it.
    return `${url}/sign-in#${code}`;
  });
