// A tick: the self-contained order to run one target at one location at one instant.
import type { Static } from "typebox";
import { AuthorizationSchema } from "./authorization.ts";
import { chunksOf } from "./chunks.ts";
import { nullable } from "./fields.ts";
import { hashOf } from "./hash.ts";
import { Type } from "./type.ts";
import { createValidator } from "./validate.ts";

export const TRIGGERS = ["SCHEDULE", "MANUAL"] as const;
export type Trigger = (typeof TRIGGERS)[number];

export type TargetKind = "call" | "workflow";

const Pair = Type.Object({ key: Type.String(), value: Type.String() });
const Instant = Type.Number({ description: "epoch milliseconds" });
const nullableText = nullable(Type.String());

const TickCall = Type.Object({
  result_id: Type.String(),
  call_id: Type.String(),
  name: Type.String(),
  domain: Type.String(),
  tags: Type.Array(Type.String()),
  request: Type.Object({
    method: Type.String(),
    url: Type.String(),
    parameters: Type.Array(Pair),
    headers: Type.Array(Pair),
    body: nullableText,
  }),
  authorization: Type.Optional(nullable(AuthorizationSchema)),
  /** Why the call cannot be made: reported as UNABLE_TO_RUN. */
  unable: Type.Optional(Type.String()),
});

/** The settings of a workflow's run. */
const TickWorkflow = Type.Object({
  workflow_id: Type.String(),
  name: Type.String(),
  stop_on_failure: Type.Boolean(),
  handle_cookies: Type.Boolean(),
  between_calls_delay: Type.Number({ minimum: 0, description: "seconds" }),
});

// Unknown fields are ignored: a newer hub and an older agent understand each other.
export const TickSchema = Type.Object({
  /** The id of the run: of the result of its one call, or of the workflow's result. */
  result_id: Type.String(),
  trigger: Type.Enum([...TRIGGERS]),
  trigger_time: Instant,
  due_time: Instant,
  /** A run that has not started by then is MISSED. */
  latest_start: Instant,
  deployment_id: nullableText,
  location_id: Type.String(),
  /**
   * Identifies the owner without a name: agents divide their places among owners. Absent in
   * ticks of earlier hubs, which all count as one owner's.
   */
  owner_hash: Type.Optional(Type.String()),
  context: Type.Record(Type.String(), Type.Unknown()),
  /** The environment values that the calls refer to. */
  environment: Type.Optional(Type.Record(Type.String(), Type.String())),
  /** In the order in which they are made. */
  calls: Type.Array(TickCall, { minItems: 1 }),
  /** Absent or null if the target is a single call. */
  workflow: Type.Optional(nullable(TickWorkflow)),
});

export type Tick = Static<typeof TickSchema>;
export type TickCall = Static<typeof TickCall>;
export type TickWorkflow = Static<typeof TickWorkflow>;

export const tickValidator = createValidator(TickSchema);

/**
 * Returns when the run starts, in epoch milliseconds. A scheduled run starts at its deployment's
 * place in the second that begins at its due time: calls due together must not lengthen one
 * another's times. Any other run starts at its due time.
 */
export const startOf = ({ trigger, due_time, deployment_id }: Tick): number =>
  trigger === "SCHEDULE" && deployment_id !== null
    ? due_time + placeInSecond(deployment_id)
    : due_time;

/** A run that starts more than this long after `startOf` is marked `is_late`. */
const LATE_AFTER_MS = 1000;

export const isLate = (tick: Tick, start: number): boolean => start - startOf(tick) > LATE_AFTER_MS;

/**
 * Returns 0 to 999 ms: always the same for one deployment, and evenly spread over deployments, even
 * those whose ids differ little.
 */
export const placeInSecond = (deploymentId: string): number =>
  Math.floor((hashOf(deploymentId) / 2 ** 32) * 1000);

/** Ticks of one location that are due in the same second share messages of this size. */
export const MAX_TICKS_PER_MESSAGE = 50;

/**
 * Groups ticks into messages. The same ticks always give the same groups, so that publishing them
 * again after a crash repeats the message ids of the first time. A message that an agent gives back
 * is redelivered with its finished runs, so workflows, which last longer, are apart from calls.
 */
export function groupTicks(ticks: readonly Tick[]): Tick[][] {
  const groups = Map.groupBy(
    ticks.toSorted((a, b) => (a.result_id < b.result_id ? -1 : 1)),
    ({ location_id, due_time, workflow }) =>
      `${location_id}|${Math.floor(due_time / 1000)}|${workflow ? "workflows" : "calls"}`,
  );
  return [...groups.values()].flatMap((group) => chunksOf(group, MAX_TICKS_PER_MESSAGE));
}
