// A location: where agents run calls. Its id is a subject token of the bus.
import { Type } from "typebox";

export const LocationId = Type.String({
  pattern: "^[A-Za-z0-9_-]{1,64}$",
  fault: (shown: string) =>
    `${shown} is not a location id (1 to 64 letters, digits, _ or -)`,
});

export interface Location {
  readonly id: string;
  readonly label: string;
  readonly region: string;
}

/** An agent as its latest heartbeat told; times in epoch milliseconds. */
export interface Heartbeat {
  readonly agent_id: string;
  readonly location_id: string;
  readonly version: string;
  readonly in_flight: number;
  readonly sent: number;
}

export const HEARTBEAT_INTERVAL_MS = 10_000;

/** An agent that has been silent for three heartbeats is offline. */
export const isOnline = (lastSeen: number, now: number): boolean =>
  now - lastSeen <= 3 * HEARTBEAT_INTERVAL_MS;
