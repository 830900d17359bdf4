// Stores locations and the versions of their keys.
import type { KeyState } from "../model/location-key.ts";
import type { Database } from "./database.ts";
import { FOR_EVER } from "./ledger/schedules.ts";
import type { StoredLocation } from "./records.ts";

export const createLocationStore = ({ kysely, rowLocks }: Database) => ({
  /** Returns false if there is already a location with this id. */
  async insert(location: Omit<StoredLocation, keyof KeyState | "removed">): Promise<boolean> {
    const { numInsertedOrUpdatedRows = 0n } = await kysely
      .insertInto("locations")
      .values(location)
      .onConflict((conflict) => conflict.column("id").doNothing())
      .executeTakeFirstOrThrow();
    return numInsertedOrUpdatedRows > 0n;
  },
  /** Lists the locations, oldest first, without removed ones: the first is the default location. */
  list: (): Promise<StoredLocation[]> => oldestFirst(kysely).where("removed", "is", null).execute(),
  /** Until this transaction ends, no other transaction removes or holds a location. */
  async lockAll(): Promise<void> {
    if (rowLocks) await oldestFirst(kysely).forUpdate().execute();
  },
  /** Keeps it from being removed until the transaction ends. Returns false if it already was. */
  async hold(id: string): Promise<boolean> {
    const found = kysely.selectFrom("locations").select("id").where("id", "=", id);
    const inUse = found.where("removed", "is", null);
    return (await (rowLocks ? inUse.forKeyShare() : inUse).execute()).length > 0;
  },
  /** Includes removed locations: results still name them. */
  listAll: (): Promise<StoredLocation[]> => oldestFirst(kysely).execute(),
  /** Returns false if another rotation was first. `changed` is when the new key takes over. */
  async rotateKey(
    { id, key_version }: Pick<StoredLocation, "id" | "key_version">,
    changed: number,
  ): Promise<boolean> {
    const { numUpdatedRows } = await kysely
      .updateTable("locations")
      .set({ key_version: key_version + 1, key_changed: changed })
      .where("id", "=", id)
      .where("key_version", "=", key_version)
      .executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  },
  /** Counts the deployments that run at the location. */
  async deploymentsAt(id: string): Promise<number> {
    const { count } = await kysely
      .selectFrom("schedules")
      .select((eb) => eb.fn.count<number>("deployment_id").distinct().as("count"))
      .where("location_id", "=", id)
      .where("active_until", "=", FOR_EVER)
      .executeTakeFirstOrThrow();
    return count;
  },
  /** Keeps the location's row for the results that name it, and deletes its agents. */
  async remove(id: string, time: number): Promise<void> {
    await kysely.updateTable("locations").set({ removed: time }).where("id", "=", id).execute();
    await kysely.deleteFrom("agents").where("location_id", "=", id).execute();
  },
});

const oldestFirst = (kysely: Database["kysely"]) =>
  kysely.selectFrom("locations").selectAll().orderBy("created").orderBy("id");
