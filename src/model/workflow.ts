// A Workflow: API Calls that run one after another.
import type { Static } from "typebox";
import { defineResource } from "./resource.ts";
import { Access, EXAMPLE, Flag, Id, LIMITS, NamedMeta, readOnly, withDefault } from "./fields.ts";
import { Type } from "./type.ts";

export const WorkflowSchema = Type.Object(
  {
    id: readOnly(Id),
    meta: NamedMeta,
    access: Access,
    workflow: Type.Object(
      {
        call_ids: withDefault(
          Type.Array(Id, {
            maxItems: LIMITS.callIds,
            description: "in the order of execution",
            examples: [[EXAMPLE.id]],
          }),
          [],
        ),
        stop_on_failure: withDefault(Type.Boolean(), true),
        handle_cookies: Flag,
      },
      { additionalProperties: false },
    ),
  },
  { additionalProperties: false },
);

export type Workflow = Static<typeof WorkflowSchema>;

export const workflowResource = defineResource({
  kind: "workflow",
  label: "Workflow",
  schema: WorkflowSchema,
  derive: (workflow) => workflow,
  sharing: ({ access }) => ({ org: access.org, community: access.public }),
  filters: () => ({}),
  callIds: ({ workflow }) => workflow.call_ids,
});

/** The workflow after the deletion of a call. */
export const withoutCall = (workflow: Workflow, callId: string): Workflow => ({
  ...workflow,
  workflow: {
    ...workflow.workflow,
    call_ids: workflow.workflow.call_ids.filter((id) => id !== callId),
  },
});
