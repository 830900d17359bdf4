// Gives an empty store its first location and its first key.
import { invalid } from "../model/errors.ts";
import { show } from "../model/validate.ts";
import type { DataDir } from "../runtime/data-dir.ts";
import type { Store } from "../store/store.ts";
import { issueKey } from "./issue-key.ts";

export const FIRST_OWNER = "owner";
export const KEY_FILE = "owner-key";
// Fixed, so that only one process can issue it; ids are in order of creation, and this sorts first.
export const FIRST_KEY_ID = "0-first-key";

/**
 * Adds the location that this process serves, or the configured one to an empty store. Rejects if
 * the location that it serves was removed.
 */
export async function ensureLocation(
  store: Store,
  id: string,
  { served }: { readonly served: boolean },
): Promise<void> {
  const all = await store.locations.listAll();
  if (all.length > 0 && !served) return;
  const known = all.find((location) => location.id === id);
  if (known && known.removed !== null)
    throw invalid(`SONDE_LOCATION: the location ${show(id)} was removed: set another one`);
  if (known) return;
  await store.locations.insert({
    id,
    label: id,
    region: "",
    created: await store.now(),
  });
}

/**
 * Issues the first OWNER key of a store that has none, and saves it in the data folder. Returns the
 * key if this call generated it; undefined if a key existed or `preset` was used.
 */
export async function ensureFirstKey(
  store: Store,
  dataDir: DataDir,
  preset: string | undefined,
): Promise<string | undefined> {
  if ((await store.apiKeys.count()) > 0) return undefined;
  // If the key cannot be saved, the transaction rolls back: nobody would ever learn it.
  const issued = await store.transaction(async (within) => {
    const made = await issueKey(within, "first start", {
      key_id: FIRST_KEY_ID,
      owner: FIRST_OWNER,
      org: null,
      access_level: "OWNER",
      name: "First key",
      api_key: preset,
    });
    if (made) dataDir.write(KEY_FILE, `${made.api_key}\n`);
    return made;
  });
  if (!issued) return undefined; // another process was first
  return preset === undefined ? issued.api_key : undefined;
}
