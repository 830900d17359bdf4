// A Deployment: how often, and from which location, a call or a workflow runs.
import type { Static } from "typebox";
import { defineResource } from "./resource.ts";
import { Id, LocationRef, OWNERSHIP, readOnly, withDefault } from "./fields.ts";
import { CHANGE_LEAD_MS, FREQUENCIES, MAX_DELAY_SECONDS } from "./slots.ts";
import { Type } from "./type.ts";

export const DelaySeconds = withDefault(
  Type.Integer({ minimum: 0, maximum: MAX_DELAY_SECONDS }),
  0,
);

export const DeploymentSchema = Type.Object(
  {
    id: readOnly(Id),
    meta: Type.Object(OWNERSHIP, { additionalProperties: false }),
    deployment: Type.Object(
      {
        target_id: Id,
        location_id: LocationRef,
        frequency: Type.Enum([...FREQUENCIES], {
          description: "minutes between runs",
          examples: [5],
        }),
        run_delay: DelaySeconds,
        between_calls_delay: DelaySeconds,
      },
      { additionalProperties: false },
    ),
  },
  { additionalProperties: false },
);

export type Deployment = Static<typeof DeploymentSchema>;

export const deploymentResource = defineResource({
  kind: "deployment",
  label: "Deployment",
  schema: DeploymentSchema,
  derive: (deployment) => deployment,
  sharing: () => ({ org: false, community: false }),
  filters: ({ deployment }) => ({ target_id: deployment.target_id }),
});

/**
 * When the schedule of `after` takes effect, in epoch milliseconds: for a new deployment, at the
 * first trigger after its creation; for a change, at the first trigger more than `CHANGE_LEAD_MS`
 * ahead. Undefined if the schedule is unchanged.
 */
export function activeFrom(
  before: Deployment | undefined,
  after: Deployment,
  now: number,
): number | undefined {
  if (!before) return now + 1;
  const [was, is] = [before.deployment, after.deployment];
  const same =
    was.target_id === is.target_id &&
    was.location_id === is.location_id &&
    was.frequency === is.frequency &&
    was.run_delay === is.run_delay &&
    was.between_calls_delay === is.between_calls_delay;
  return same ? undefined : now + CHANGE_LEAD_MS + 1;
}
