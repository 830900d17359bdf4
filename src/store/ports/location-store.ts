// The port of locations, and of the agents that were heard from there.
import type { Heartbeat, Location } from "../../model/location.ts";

export interface StoredLocation extends Location {
  readonly created: number;
}

export interface StoredAgent extends Heartbeat {
  /** When its latest heartbeat was received. */
  readonly last_seen: number;
}

export interface LocationStore {
  /** False when there is one already. */
  insert(location: StoredLocation): Promise<boolean>;
  /** Oldest first: the first is the default location. */
  list(): Promise<StoredLocation[]>;
  recordHeartbeat(heartbeat: Heartbeat, now: number): Promise<void>;
  listAgents(): Promise<StoredAgent[]>;
}
