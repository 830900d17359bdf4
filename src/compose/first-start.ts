// What an empty store gets: its first location and its first key.
import type { DataDir } from "../runtime/data-dir.ts";
import { issueKey } from "./issue-key.ts";
import type { Store } from "../store/store.ts";

export const FIRST_OWNER = "owner";
// One, whoever is first; and before every other in the order of creation, which is that of ids.
const FIRST_KEY_ID = "0-first-key";
export const KEY_FILE = "owner-key";

/**
 * A store knows the location that its own process serves; an empty one, the location that this
 * process was told of.
 */
export async function ensureLocation(
  store: Store,
  id: string,
  { served }: { readonly served: boolean },
): Promise<void> {
  const known = await store.locations.list();
  if (known.length > 0 && !served) return;
  if (known.some((location) => location.id === id)) return;
  await store.locations.insert({
    id,
    label: id,
    region: "",
    created: await store.now(),
  });
}

/**
 * Issues the first OWNER key of a store that has none, and keeps it in the data folder. Returns the
 * key when this call made it up; undefined when there was one already, or `preset` gave it.
 */
export async function ensureFirstKey(
  store: Store,
  dataDir: DataDir,
  preset: string | undefined,
): Promise<string | undefined> {
  if ((await store.apiKeys.count()) > 0) return undefined;
  // A key that could be kept nowhere is not issued: nobody would ever be told it.
  const issued = await store.transaction(async (within) => {
    const made = await issueKey(within, "first start", {
      key_id: FIRST_KEY_ID,
      owner: FIRST_OWNER,
      org: null,
      access_level: "OWNER",
      api_key: preset,
    });
    if (made) dataDir.write(KEY_FILE, `${made.api_key}\n`);
    return made;
  });
  if (!issued) return undefined; // another process was first
  return preset === undefined ? issued.api_key : undefined;
}
