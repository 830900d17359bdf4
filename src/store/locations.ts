// Locations, and the agents that have reported from there.
import type { Heartbeat } from "../model/location.ts";
import type { Database } from "./database.ts";
import type { StoredAgent, StoredLocation } from "./records.ts";

export type LocationStore = ReturnType<typeof createLocationStore>;

export const createLocationStore = ({ kysely }: Database) => ({
  /** False when there is one with this id already. */
  async insert(location: StoredLocation): Promise<boolean> {
    const { numInsertedOrUpdatedRows = 0n } = await kysely
      .insertInto("locations")
      .values(location)
      .onConflict((conflict) => conflict.column("id").doNothing())
      .executeTakeFirstOrThrow();
    return numInsertedOrUpdatedRows > 0n;
  },
  /** Oldest first: the first is the default location. */
  list: (): Promise<StoredLocation[]> =>
    kysely.selectFrom("locations").selectAll().orderBy("created").orderBy("id").execute(),
  async recordHeartbeat(heartbeat: Heartbeat, now: number): Promise<void> {
    const { agent_id, location_id, version, in_flight, sent, remote_addr = "" } = heartbeat;
    const seen = { location_id, version, in_flight, sent, remote_addr, last_seen: now };
    await kysely
      .insertInto("agents")
      .values({ agent_id, ...seen, created: now })
      .onConflict((conflict) => conflict.column("agent_id").doUpdateSet(seen))
      .execute();
  },
  listAgents: (): Promise<StoredAgent[]> =>
    kysely.selectFrom("agents").selectAll().orderBy("location_id").orderBy("agent_id").execute(),
});
