// Creates a link that signs in to the web pages without a key, once.
import { newSignInCode } from "../api/sessions.ts";
import type { Store } from "../store/store.ts";
import type { LocalActor } from "./issue-key.ts";

/**
 * Creates a link, valid for an hour, that signs in as this key. Undefined if no such key is active.
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
    // Browsers do not send the fragment, so no log has it.
    return `${url}/sign-in#${code}`;
  });
