// A link to the web pages that signs in without a key, once.
import { newSignInCode } from "../api/sessions.ts";
import type { Store } from "../store/store.ts";
import { FIRST_KEY_ID } from "./first-start.ts";

/** As the first key, within an hour; undefined where that key is revoked. */
export async function signInLink(store: Store, url: string): Promise<string | undefined> {
  const [first] = await store.apiKeys.list(null, { after: "", limit: 1 });
  if (first?.key_id !== FIRST_KEY_ID) return undefined;
  // Browsers keep what follows the # to themselves: no log has it.
  return `${url}/sign-in#${await newSignInCode(store, FIRST_KEY_ID)}`;
}
