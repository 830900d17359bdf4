// Locations, and the agents that were heard from there.
import type { Database } from "./database.ts";
import type { LocationStore } from "./ports/location-store.ts";

export function createLocationStore({ kysely }: Database): LocationStore {
  return {
    async insert(location) {
      const { numInsertedOrUpdatedRows } = await kysely
        .insertInto("locations")
        .values(location)
        .onConflict((conflict) => conflict.column("id").doNothing())
        .executeTakeFirstOrThrow();
      return (numInsertedOrUpdatedRows ?? 0n) > 0n;
    },
    async list() {
      return kysely.selectFrom("locations").selectAll().orderBy("created").orderBy("id").execute();
    },
    async recordHeartbeat({ agent_id, location_id, version, in_flight, sent }, now) {
      const seen = { location_id, version, in_flight, sent, last_seen: now };
      await kysely
        .insertInto("agents")
        .values({ agent_id, ...seen })
        .onConflict((conflict) => conflict.column("agent_id").doUpdateSet(seen))
        .execute();
    },
    async listAgents() {
      return kysely
        .selectFrom("agents")
        .selectAll()
        .orderBy("location_id")
        .orderBy("agent_id")
        .execute();
    },
  };
}
