// Runs of a workflow at a caller's request.
import { Type } from "typebox";
import type { Static } from "typebox";
import { AppError, invalid } from "../../model/errors.ts";
import { canRun } from "../../model/access.ts";
import { DelaySeconds } from "../../model/deployment.ts";
import { Id } from "../../model/fields.ts";
import { createValidator } from "../../model/validate.ts";
import { workflowResource } from "../../model/workflow.ts";
import { manualRun } from "../../dispatch/pending-run.ts";
import type { PendingRun } from "../../store/ports/run-store.ts";
import { visible } from "../crud.ts";
import { defineEndpoint } from "../endpoint.ts";
import type { ApiRequest, Endpoint, EndpointDeps } from "../endpoint.ts";
import { resolveLocation } from "../locations.ts";
import { named } from "../openapi.ts";
import { inUpperCase, RUN_FIELDS, RUN_PARAMETERS, runNow } from "../run-now.ts";

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
export const workflowRunEndpoints = (
  deps: EndpointDeps,
  update: Endpoint,
): Endpoint[] => [
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
  const run = await orderedRun(deps, request);
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

async function orderedRun(
  { store }: EndpointDeps,
  { principal, params, body }: ApiRequest<"/:id/">,
): Promise<PendingRun> {
  const order = runBody.parse(body);
  const stored = await store.documents.get("workflow", params.id);
  const workflow = visible("Workflow", stored, principal);
  if (!canRun(principal, workflow))
    throw new AppError(
      "forbidden",
      "Only the owner of this Workflow, and its organization where it is shared with it, may run it",
    );
  const location = await resolveLocation(
    store,
    "location_id",
    order.location_id ?? "",
  );
  if ("fault" in location) throw invalid(location.fault);
  return manualRun({
    target_id: workflow.id,
    target_kind: "workflow",
    between_calls_delay: order.between_calls_delay ?? 0,
    location_id: location.id,
    owner: principal.owner,
    context: inUpperCase(order.context ?? {}),
    run_delay: order.run_delay ?? 0,
    now: await store.now(),
  });
}
