// Stores leases: which process does a job, such as opening slots, and its cursor.
import type { Kysely } from "kysely";
import type { Database } from "./database.ts";
import type { Lease } from "./records.ts";
import type { Schema } from "./schema.ts";

// A lease that expires more than this many durations from now was taken before the clock was set
// back, so any process may take it. The margin is for a process that was paused and compares with
// an old time.
const CLOCK_STEP_TTLS = 6;

/** Compare-and-set in the database, with a fence against former holders. */
export function createLeaseStore({ kysely }: Database) {
  const ofLease = ({ name, fence }: Lease) =>
    kysely.updateTable("leases").where("name", "=", name).where("fence", "=", fence);
  return {
    /**
     * Takes the lease when it is free, expired, already held by `holder`, or expires much later
     * than `ttlMs` allows (the clock was set back). Returns undefined while another process holds
     * it.
     */
    async acquire(
      name: string,
      holder: string,
      now: number,
      ttlMs: number,
    ): Promise<Lease | undefined> {
      return kysely
        .insertInto("leases")
        .values({ name, holder, fence: 1, expires_at: now + ttlMs, cursor: null })
        .onConflict((conflict) =>
          conflict
            .column("name")
            .doUpdateSet((eb) => ({
              holder,
              expires_at: now + ttlMs,
              fence: eb
                .case()
                .when("leases.holder", "=", holder)
                .then(eb.ref("leases.fence"))
                .else(eb("leases.fence", "+", 1))
                .end(),
            }))
            .where((eb) =>
              eb.or([
                eb("leases.holder", "=", holder),
                eb("leases.expires_at", "<=", now),
                eb("leases.expires_at", ">", now + CLOCK_STEP_TTLS * ttlMs),
              ]),
            ),
        )
        .returningAll()
        .executeTakeFirst();
    },
    /** Moves the cursor. Returns false if the lease's fence or cursor has changed. */
    async advance(lease: Lease, cursor: number): Promise<boolean> {
      const { numUpdatedRows } = await ofLease(lease)
        .set({ cursor })
        .where((eb) =>
          lease.cursor === null ? eb("cursor", "is", null) : eb("cursor", "=", lease.cursor),
        )
        .executeTakeFirstOrThrow();
      return numUpdatedRows > 0n;
    },
    /** Moves the cursor back to this time, from which the work is to be done again. */
    moveBack: (name: string, cursor: number): Promise<void> => moveBack(kysely, name, cursor),
    /** Frees the lease for the next holder at once. */
    async release(lease: Lease): Promise<void> {
      await ofLease(lease).set({ holder: "", expires_at: 0 }).execute();
    },
  };
}

/** A holder that knows a later cursor, or none yet, can then no longer advance from it. */
async function moveBack(kysely: Kysely<Schema>, name: string, cursor: number): Promise<void> {
  await kysely
    .updateTable("leases")
    .set({ cursor })
    .where("name", "=", name)
    .where((eb) => eb.or([eb("cursor", "is", null), eb("cursor", ">", cursor)]))
    .execute();
}

/** Returns the cursor of a lease; null while it has none. */
export async function cursorOf({ kysely }: Database, name: string): Promise<number | null> {
  const leases = kysely.selectFrom("leases").select("cursor");
  return (await leases.where("name", "=", name).executeTakeFirst())?.cursor ?? null;
}
