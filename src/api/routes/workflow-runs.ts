// Runs of a workflow at a caller's request.
import { Type } from "typebox";
import type { Static } from "typebox";
import { DelaySeconds } from "../../model/deployment.ts";
import { Id } from "../../model/fields.ts";
import { createValidator } from "../../model/validate.ts";
import { workflowResource } from "../../model/workflow.ts";
import { defineEndpoint } from "../http/endpoint.ts";
import type { ApiRequest, Endpoint, EndpointDeps } from "../http/endpoint.ts";
import { named } from "../openapi/openapi.ts";
import { orderRun } from "../order-run.ts";
import { RUN_FIELDS, RUN_PARAMETERS, runNow } from "../run-now.ts";

const TARGET = { kind: "workflow", label: "Workflow" } as const;

const RunBody = Type.Object(
  { ...RUN_FIELDS, between_calls_delay: Type.Optional(DelaySeconds) },
  { additionalProperties: false },
);
const runBody = createValidator(RunBody);

const WorkflowRunSchema = named(
  "WorkflowRun",
  Type.Object({
    workflow_id: Id,
    workflow_result_id: Id,
    location_id: Type.String(),
    context: Type.Record(Type.String(), Type.Unknown()),
  }),
);

const common = {
  methods: ["POST"],
  tag: "Workflows",
  level: "EDITOR",
  query: RUN_PARAMETERS,
} as const;

/** `update` changes a workflow: what a body with a part of one asks for. */
export const workflowRunEndpoints = (deps: EndpointDeps, update: Endpoint): Endpoint[] => [
  defineEndpoint({
    ...common,
    operationId: "runWorkflow",
    path: "/workflows/:id/run",
    summary: "Run a Workflow now, once",
    body: RunBody,
    answer: WorkflowRunSchema,
    handle: (request) => runWorkflow(deps, request, request.query.wait),
  }),
  defineEndpoint({
    ...common,
    operationId: "changeOrRunWorkflow",
    path: "/workflows/:id/",
    summary:
      "Run a Workflow now, once; with `meta`, `workflow` or `access` in the body, change it instead",
    body: Type.Union([RunBody, workflowResource.updateBody]),
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

async function runWorkflow(
  deps: EndpointDeps,
  request: ApiRequest<"/:id/">,
  wait: number,
): Promise<Static<typeof WorkflowRunSchema>> {
  const order = runBody.parse(request.body);
  const run = await orderRun(deps, request, TARGET, order);
  const { target_id, result_id, location_id, context } = run;
  return runNow(deps, request, run, {
    answer: {
      workflow_id: target_id,
      workflow_result_id: result_id,
      location_id,
      context: { ...context },
    },
    idOf: (answer) => answer.workflow_result_id,
    wait,
  });
}
