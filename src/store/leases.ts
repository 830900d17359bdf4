// The right of one process to move a cursor: compare-and-set in the database, with a fence against
// former holders.
import type { Selectable } from "kysely";
import type { Database } from "./database.ts";
import type { Schema } from "./schema.ts";
import type { Lease, LeaseStore } from "./ports/lease-store.ts";

// A holder that was merely paused sees a lease a little beyond its own; a clock that was set back,
// one far beyond.
const CLOCK_STEP_TTLS = 6;

export function createLeaseStore({ kysely }: Database): LeaseStore {
  const ofLease = ({ name, fence }: Lease) =>
    kysely.updateTable("leases").where("name", "=", name).where("fence", "=", fence);
  return {
    async acquire(name, holder, now, ttlMs) {
      const free = { name, holder: "", fence: 0, expires_at: 0, cursor: null };
      await kysely
        .insertInto("leases")
        .values(free)
        .onConflict((conflict) => conflict.column("name").doNothing())
        .execute();
      const row: Selectable<Schema["leases"]> | undefined = await kysely
        .updateTable("leases")
        .set((eb) => ({
          holder,
          expires_at: now + ttlMs,
          fence: eb
            .case()
            .when("holder", "=", holder)
            .then(eb.ref("fence"))
            .else(eb("fence", "+", 1))
            .end(),
        }))
        .where("name", "=", name)
        .where((eb) =>
          eb.or([
            eb("holder", "=", holder),
            eb("expires_at", "<=", now),
            eb("expires_at", ">", now + CLOCK_STEP_TTLS * ttlMs),
          ]),
        )
        .returningAll()
        .executeTakeFirst();
      return row;
    },
    async advance(lease, cursor) {
      const { numUpdatedRows } = await ofLease(lease)
        .set({ cursor })
        .where((eb) =>
          lease.cursor === null ? eb("cursor", "is", null) : eb("cursor", "=", lease.cursor),
        )
        .executeTakeFirstOrThrow();
      return numUpdatedRows > 0n;
    },
    async release(lease) {
      await ofLease(lease).set({ holder: "", expires_at: 0 }).execute();
    },
  };
}
