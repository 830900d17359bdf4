// The heartbeats of agents, and the hub's answers.
import type { Static } from "typebox";
import { LAST_INSTANT } from "./instant.ts";
import { LocationId } from "./location.ts";
import { Type } from "./type.ts";
import { createValidator } from "./validate.ts";

const AGENT_ID = /^[A-Za-z0-9_.-]{1,128}$/;

const Count = (maximum: number, description: string) =>
  Type.Integer({ minimum: 0, maximum, description });

/** An agent of another version may lack optional fields, and may send others. */
export const HeartbeatSchema = Type.Object({
  agent_id: Type.String({ pattern: AGENT_ID.source }),
  location_id: LocationId,
  version: Type.String({ pattern: "^[!-~]{1,64}$" }),
  protocol: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_000_000, description: "absent: 1" }),
  ),
  state: Type.Optional(
    Type.String({
      pattern: "^[a-z_]{1,32}$",
      description: "online, draining or stopped; any other counts as online, which is the default",
    }),
  ),
  capacity: Type.Optional(
    Count(1_000_000, "maximum calls at a time; a workflow makes none during its delays"),
  ),
  in_flight: Count(1_000_000, "runs in progress"),
  held: Type.Optional(Count(100_000_000, "ticks that have not started")),
  spool: Type.Optional(
    Type.Object(
      {
        reports: Count(1_000_000_000, "that wait for the bus"),
        bytes: Count(Number.MAX_SAFE_INTEGER, "of these reports"),
      },
      { description: "absent without a spool, or while it cannot be opened" },
    ),
  ),
  sent: Type.Number({ minimum: 0, maximum: LAST_INSTANT, description: "epoch milliseconds" }),
  remote_addr: Type.Optional(
    Type.String({
      maxLength: 45,
      pattern: "^[0-9A-Fa-f:.]*$",
      description: "the public address that the agent calls from; absent if it is not known",
    }),
  ),
  clock_offset_ms: Type.Optional(
    Type.Number({
      minimum: -LAST_INSTANT,
      maximum: LAST_INSTANT,
      description: "how far the hub's time is ahead of the agent's clock; absent until it is known",
    }),
  ),
});

/** The answer to a heartbeat: the hub's time, and its orders, which hold until the next answer. */
export const HeartbeatAnswerSchema = Type.Object({
  now: Type.Number({
    minimum: 0,
    maximum: LAST_INSTANT,
    description: "epoch milliseconds",
  }),
  drain: Type.Optional(Type.Boolean({ description: "accept no more ticks" })),
  refused: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 500,
      description: "why the hub rejects this agent's results: a sentence for its operator",
    }),
  ),
});

/** The state of an agent at its latest heartbeat. */
export type Heartbeat = Readonly<Static<typeof HeartbeatSchema>>;
export type HeartbeatAnswer = Readonly<Static<typeof HeartbeatAnswerSchema>>;

export const heartbeatValidator = createValidator(HeartbeatSchema);
export const heartbeatAnswerValidator = createValidator(HeartbeatAnswerSchema);

export const HEARTBEAT_INTERVAL_MS = 10_000;

/**
 * After so many missed heartbeats in a row, an agent is offline for the hub; after so many
 * unanswered ones, the agent warns its operator.
 */
export const HEARTBEATS_OF_SILENCE = 3;
