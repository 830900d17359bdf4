// A location: where agents run calls. Its id is a subject token of the bus.
import { Type } from "typebox";
import type { Static } from "typebox";
import { createValidator } from "./validate.ts";

export const LocationId = Type.String({
  pattern: "^[A-Za-z0-9_-]{1,64}$",
  fault: (shown: string) => `${shown} is not a location id (1 to 64 letters, digits, _ or -)`,
});

export interface Location {
  readonly id: string;
  readonly label: string;
  readonly region: string;
}

/** The last that is written with four digits of the year. */
const LAST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

export const HeartbeatSchema = Type.Object({
  agent_id: Type.String(),
  location_id: LocationId,
  version: Type.String(),
  in_flight: Type.Integer({ minimum: 0 }),
  sent: Type.Number({ description: "epoch milliseconds" }),
  clock_offset_ms: Type.Optional(
    Type.Number({
      minimum: -LAST_INSTANT,
      maximum: LAST_INSTANT,
      description:
        "how far the hub's time is ahead of the clock of the agent's machine; absent until it is known",
    }),
  ),
});

/** What a heartbeat is answered with: the hub's time. */
export const HeartbeatAnswerSchema = Type.Object({
  now: Type.Number({
    minimum: 0,
    maximum: LAST_INSTANT,
    description: "epoch milliseconds",
  }),
});

/** An agent as its latest heartbeat told. */
export type Heartbeat = Readonly<Static<typeof HeartbeatSchema>>;

export const locationIdValidator = createValidator(LocationId);
export const heartbeatValidator = createValidator(HeartbeatSchema);
export const heartbeatAnswerValidator = createValidator(HeartbeatAnswerSchema);

export const HEARTBEAT_INTERVAL_MS = 10_000;

/** An agent that has been silent for three heartbeats is offline. */
export const isOnline = (lastSeen: number, now: number): boolean =>
  now - lastSeen <= 3 * HEARTBEAT_INTERVAL_MS;
