// Creates a link that signs in to the web pages without a key, once.
import { newSignInCode } from "../api/sessions.ts";
import type { Store } from "../store/store.ts";
import { auditLocally } from "./local-audit.ts";
import type { LocalActor } from "./local-audit.ts";

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
    await auditLocally(within, actor, {
      owner,
      org,
      action: "issue",
      kind: "sign_in",
      object_id: keyId,
    });
    // Browsers do not send the fragment, so no log has it.
    return `${url}/sign-in#${code}`;
  });
