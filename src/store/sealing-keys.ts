// Records which master keys the database's values are sealed with.
import type { Sealer } from "../runtime/sealer.ts";
import type { Database } from "./database.ts";

const CHECK_TEXT = "sonde";

/** The place of the text by which a key is checked. */
export const checkPlace = (keyId: string) => `master_keys/${keyId}`;

/**
 * Registers the current key. Call it before each sealed value is stored: a rotation by another
 * process may have unregistered the key meanwhile.
 */
export async function registerKey(
  { kysely }: Pick<Database, "kysely">,
  sealer: Sealer,
): Promise<void> {
  const { keyId: key_id } = sealer;
  const sealed_check = await sealer.seal(CHECK_TEXT, checkPlace(key_id));
  await kysely
    .insertInto("master_keys")
    .values({ key_id, sealed_check })
    .onConflict((conflict) => conflict.column("key_id").doNothing())
    .execute();
}
