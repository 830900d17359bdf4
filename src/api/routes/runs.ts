// Manual runs of calls and workflows.
import type { Static } from "typebox";
import { DelaySeconds } from "../../model/deployment.ts";
import { Id, LocationRef } from "../../model/fields.ts";
import { Type } from "../../model/type.ts";
import { createValidator } from "../../model/validate.ts";
import { workflowResource } from "../../model/workflow.ts";
import { defineEndpoint, named, withoutDefaults } from "../endpoint.ts";
import type { ApiRequest, Endpoint, EndpointDeps } from "../endpoint.ts";
import { RUN_FIELDS, RUN_PARAMETERS, runNow } from "../run-now.ts";

const CallRunBody = Type.Object(RUN_FIELDS, { additionalProperties: false });
const WorkflowRunBody = Type.Object(
  { ...RUN_FIELDS, between_calls_delay: Type.Optional(DelaySeconds) },
  { additionalProperties: false },
);
const callRunBody = createValidator(CallRunBody);
const workflowRunBody = createValidator(WorkflowRunBody);

const place = {
  location_id: LocationRef,
  context: Type.Record(Type.String(), Type.Unknown(), { examples: [{ WORKSPACE: "staging" }] }),
};
const CallRunSchema = named("Run", Type.Object({ call_id: Id, result_id: Id, ...place }));
const WorkflowRunSchema = named(
  "WorkflowRun",
  Type.Object({ workflow_id: Id, workflow_result_id: Id, ...place }),
);

const common = { methods: ["POST"], level: "EDITOR", query: RUN_PARAMETERS } as const;

export const callRunEndpoints = (deps: EndpointDeps): Endpoint[] => [
  defineEndpoint({
    ...common,
    operationId: "runCall",
    path: "/calls/:id/run",
    tag: "API Calls",
    summary: "Run an API Call now, once",
    description:
      "For its owner, and for the organization that it is shared with. The answer arrives immediately, before the call is made, unless `wait` delays it; the result is QUEUED until then.",
    missing: "API Call",
    body: CallRunBody,
    answer: CallRunSchema,
    handle: async (request) =>
      runNow(deps, request, {
        target: { kind: "call", label: "API Call" },
        body: callRunBody.parse(request.body),
        answerOf: ({ target_id: call_id, result_id, location_id, context }) => ({
          call_id,
          result_id,
          location_id,
          context: { ...context },
        }),
        idOf: (answer) => answer.result_id,
        wait: request.query.wait,
      }),
  }),
];

/** `update`: the endpoint that changes a workflow. */
export const workflowRunEndpoints = (deps: EndpointDeps, update: Endpoint): Endpoint[] => [
  defineEndpoint({
    ...common,
    operationId: "runWorkflow",
    path: "/workflows/:id/run",
    tag: "Workflows",
    summary: "Run a Workflow now, once",
    description:
      "For its owner, and for the organization that it is shared with. The answer arrives immediately, before the calls are made, unless `wait` delays it.",
    missing: "Workflow",
    body: WorkflowRunBody,
    answer: WorkflowRunSchema,
    handle: (request) => runWorkflow(deps, request, request.query.wait),
  }),
  defineEndpoint({
    ...common,
    operationId: "changeOrRunWorkflow",
    path: "/workflows/:id/",
    tag: "Workflows",
    summary:
      "Run a Workflow now, once; with `meta`, `workflow` or `access` in the body, change it instead",
    description: "`POST …/run` always runs it, `PUT` always changes it.",
    missing: "Workflow",
    body: withoutDefaults(Type.Union([WorkflowRunBody, workflowResource.updateBody])),
    answer: Type.Union([WorkflowRunSchema, update.answer]),
    versioned: true,
    conditional: true,
    handle: (request) =>
      isChange(request.body)
        ? update.handle(request)
        : runWorkflow(deps, request, request.query.wait),
  }),
];

const isChange = (body: unknown): boolean =>
  typeof body === "object" &&
  body !== null &&
  ["meta", "workflow", "access"].some((name) => Object.hasOwn(body, name));

const runWorkflow = async (
  deps: EndpointDeps,
  request: ApiRequest<"/:id/">,
  wait: number,
): Promise<Static<typeof WorkflowRunSchema>> =>
  runNow(deps, request, {
    target: { kind: "workflow", label: "Workflow" },
    body: workflowRunBody.parse(request.body),
    answerOf: ({ target_id: workflow_id, result_id, location_id, context }) => ({
      workflow_id,
      workflow_result_id: result_id,
      location_id,
      context: { ...context },
    }),
    idOf: (answer) => answer.workflow_result_id,
    wait,
  });
