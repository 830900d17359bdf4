// Stores the agents of each location, by their latest heartbeats, and the orders to them.
import {
  AGENTS_KEPT_MS,
  MAX_AGENTS_PER_LOCATION,
  conditionOf,
  protocolOf,
  SILENT_MS,
} from "../model/agent.ts";
import type { ListedAgent } from "../model/agent.ts";
import type { Heartbeat } from "../model/heartbeat.ts";
import type { Database } from "./database.ts";
import { countAll } from "./database.ts";

export interface Seen {
  /** When the hub received the heartbeat. */
  readonly now: number;
  /** Whether the hub rejects the agent's results. */
  readonly refused?: boolean;
}

export function createAgentStore(database: Database) {
  const { kysely } = database;
  return {
    /** Returns undefined for an agent that the location does not list. */
    async find({ location_id, agent_id }: Pick<Heartbeat, "location_id" | "agent_id">) {
      const row = await ofLocation(kysely, location_id)
        .where("agent_id", "=", agent_id)
        .select("drain_ordered")
        .executeTakeFirst();
      return row && { drain_ordered: row.drain_ordered === 1 };
    },
    /**
     * Ignores a late or replayed heartbeat: one sent no later than the latest known. A send time
     * ahead of `now` is stored as `now`, and a stored one ahead of `now` is replaced, so both the
     * agent's clock and the hub's may be set back.
     */
    record: (heartbeat: Heartbeat, seen: Seen): Promise<void> => record(database, heartbeat, seen),
    /**
     * Returns whether the location may list another agent. If it is full, forgets the agent that
     * has been offline the longest.
     */
    makeRoom: (location_id: string, now: number): Promise<boolean> =>
      makeRoom(database, location_id, now),
    /** Forgets the agents not seen for `AGENTS_KEPT_MS`. */
    async forgetOld(now: number): Promise<void> {
      await kysely
        .deleteFrom("agents")
        .where("last_seen", "<", now - AGENTS_KEPT_MS)
        .execute();
    },
    /** Orders the agent to drain, or to resume. Returns the locations that list it. */
    async orderDrain(agent_id: string, drain: boolean): Promise<string[]> {
      const rows = await kysely
        .updateTable("agents")
        .set({ drain_ordered: Number(drain) })
        .where("agent_id", "=", agent_id)
        .returning("location_id")
        .execute();
      return rows.map(({ location_id }) => location_id);
    },
    async list(): Promise<ListedAgent[]> {
      const rows = await kysely
        .selectFrom("agents")
        .selectAll()
        .orderBy("location_id")
        .orderBy("agent_id")
        .execute();
      return rows.map((row) => ({ ...row, drain_ordered: row.drain_ordered === 1 }));
    },
  };
}

const ofLocation = (kysely: Database["kysely"], location_id: string) =>
  kysely.selectFrom("agents").where("location_id", "=", location_id);

async function makeRoom({ kysely }: Database, location_id: string, now: number): Promise<boolean> {
  const listed = await countAll(ofLocation(kysely, location_id));
  if (listed < MAX_AGENTS_PER_LOCATION) return true;
  const silent = ofLocation(kysely, location_id).where("last_seen", "<", now - SILENT_MS);
  const { numDeletedRows } = await kysely
    .deleteFrom("agents")
    .where("location_id", "=", location_id)
    .where("agent_id", "=", silent.select("agent_id").orderBy("last_seen").limit(1))
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}

async function record({ kysely }: Database, heartbeat: Heartbeat, given: Seen): Promise<void> {
  const { agent_id, location_id } = heartbeat;
  const { condition_since, ...seen } = toRow(heartbeat, given);
  const first = { created: given.now, drain_ordered: 0 };
  await kysely
    .insertInto("agents")
    .values({ agent_id, location_id, ...seen, condition_since, ...first })
    .onConflict((conflict) =>
      conflict
        .columns(["location_id", "agent_id"])
        .doUpdateSet((eb) => ({
          ...seen,
          condition_since: eb
            .case()
            .when("agents.condition", "=", seen.condition)
            .then(eb.ref("agents.condition_since"))
            .else(condition_since)
            .end(),
        }))
        .where((eb) =>
          eb.or([eb("agents.sent", "<", seen.sent), eb("agents.sent", ">", given.now)]),
        ),
    )
    .execute();
}

const toRow = (heartbeat: Heartbeat, { now, refused = false }: Seen) => {
  const { version, in_flight, capacity = null, held = 0, spool, sent } = heartbeat;
  const condition = conditionOf(heartbeat);
  const { remote_addr = "", clock_offset_ms = null } = heartbeat;
  return {
    version,
    protocol: protocolOf(heartbeat),
    condition: refused && condition !== "stopped" ? ("incompatible" as const) : condition,
    condition_since: now,
    capacity,
    in_flight,
    held,
    spool_reports: spool?.reports ?? 0,
    spool_bytes: spool?.bytes ?? 0,
    clock_offset_ms,
    sent: Math.min(sent, now),
    remote_addr,
    last_seen: now,
  };
};
