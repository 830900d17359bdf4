// Results of workflows.
import type { Static } from "typebox";
import { canRead, canRun, isOwner } from "../../model/access.ts";
import type { Principal } from "../../model/access.ts";
import { notFound } from "../../model/errors.ts";
import { nullable } from "../../model/fields.ts";
import { parseInstant } from "../../model/instant.ts";
import { WorkflowResultSchema } from "../../model/result.ts";
import type { Result, WorkflowResult } from "../../model/result.ts";
import { Type } from "../../model/type.ts";
import { workflowResource } from "../../model/workflow.ts";
import type { Workflow } from "../../model/workflow.ts";
import { quotedCall } from "../../model/workflow-result.ts";
import { QUEUED, workflowResultWithoutCalls } from "../../model/result-without-call.ts";
import { stepIds } from "../../runtime/ids.ts";
import type { PendingRun, StoredDocument } from "../../store/records.ts";
import type { Store } from "../../store/store.ts";
import { defineEndpoint, named } from "../endpoint.ts";
import type { Endpoint, EndpointDeps } from "../endpoint.ts";
import { listOf } from "../http/paging.ts";
import { visible } from "../owned-documents.ts";
import { listResults, RESULT_LIST } from "../result-lists.ts";
import { callsSharing } from "../shared-calls.ts";
import { ListedResultSchema, withoutRequest } from "./results.ts";

const tag = "Results";

const WithSteps = named(
  "WorkflowResultWithCalls",
  Type.Object({
    ...WorkflowResultSchema.properties,
    results: Type.Array(ListedResultSchema, {
      description:
        "of its calls, in order; anyone but the owner of the Workflow sees only those of calls whose results they may read",
    }),
    context: nullable(Type.Record(Type.String(), Type.Unknown()), {
      description:
        "of the run, as it was given, credentials masked; null where none was given, it is no longer kept, the run has not ended, or the reader may not run the Workflow",
      examples: [{ WORKSPACE: "staging" }],
    }),
  }),
);

export const workflowResultEndpoints = (deps: EndpointDeps): Endpoint[] => [
  defineEndpoint({
    operationId: "listResultsOfWorkflow",
    methods: ["GET"],
    path: "/workflows/:id/results/",
    tag,
    summary: "List the results of a Workflow",
    description: "In creation order, also those of runs that have not ended. Filters combine.",
    missing: "Workflow",
    level: "VIEWER",
    query: RESULT_LIST,
    answer: listOf(named("WorkflowResult", WorkflowResultSchema)),
    async handle(request) {
      const { principal, params } = request;
      const workflow = await visible(deps.store, principal, workflowResource, params.id);
      return listResults(deps, request, {
        targetId: workflow.id,
        recorded: async (page) => {
          const found = await deps.store.workflowResults.listOfWorkflow(workflow.id, page);
          return withReadableMessages(deps.store, principal, workflow, found);
        },
        queued: (run) => queuedResult(run, workflow),
      });
    },
  }),
  defineEndpoint({
    operationId: "getWorkflowResult",
    methods: ["GET"],
    path: "/workflows/results/:workflow_result_id/",
    tag,
    summary: "Get the result of a Workflow, with those of its calls",
    description:
      "Whoever may read the Workflow may read its results; a call's message is shown only to those who may read the call's results.",
    missing: "Workflow result",
    level: "VIEWER",
    answer: WithSteps,
    handle: ({ principal, params }) => resultOf(deps.store, principal, params.workflow_result_id),
  }),
];

async function resultOf(
  store: Store,
  principal: Principal,
  id: string,
): Promise<Static<typeof WithSteps>> {
  const pending = await store.pendingRuns.get(id);
  const recorded = await store.workflowResults.get(id);
  const workflow = await store.documents.get(
    "workflow",
    recorded?.meta.workflow_id ?? pending?.target_id ?? "",
  );
  if (!workflow || !canRead(principal, workflow)) throw notFound("Workflow result");
  if (!recorded)
    return { ...queuedResult(pending as PendingRun, workflow), results: [], context: null };
  const results = await stepsOf(store, principal, workflow, recorded);
  const [shown] = await withReadableMessages(store, principal, workflow, [recorded]);
  const context = canRun(principal, workflow) && (await store.workflowResults.context(id));
  return { ...(shown as WorkflowResult), results, context: context || null };
}

/** The message of a run repeats that of a call, which may be shared less widely. */
async function withReadableMessages(
  store: Store,
  principal: Principal,
  workflow: StoredDocument,
  found: WorkflowResult[],
): Promise<WorkflowResult[]> {
  if (isOwner(principal, workflow)) return found;
  const quotes = found.map(({ id, meta }) => {
    const quoted = quotedCall(meta.message);
    const due = parseInstant(meta.due_time) as number;
    return quoted && { ...quoted, id: stepIds(due, id, quoted.step + 1).at(-1) as string };
  });
  const steps = await store.results.getMany(quotes.flatMap((quote) => quote?.id ?? []));
  const readable = new Set((await readableOf(store, principal, steps)).map(({ id }) => id));
  return found.map((result, n) => {
    const quote = quotes[n];
    if (!quote || readable.has(quote.id)) return result;
    return { ...result, meta: { ...result.meta, message: quote.unquoted } };
  });
}

async function stepsOf(
  store: Store,
  principal: Principal,
  workflow: StoredDocument,
  { id, meta, counts }: WorkflowResult,
): Promise<Static<typeof ListedResultSchema>[]> {
  const due = parseInstant(meta.due_time) as number;
  const steps = await store.results.getMany(stepIds(due, id, counts.calls));
  const shown = isOwner(principal, workflow) ? steps : await readableOf(store, principal, steps);
  return shown.map(withoutRequest);
}

/** A workflow may be shared more widely than its calls. */
async function readableOf(
  store: Store,
  principal: Principal,
  steps: readonly Result[],
): Promise<readonly Result[]> {
  const callIds = steps.map(({ meta }) => meta.call_id);
  const open = await callsSharing("results", store, principal, callIds);
  return steps.filter(({ meta }) => open.has(meta.call_id));
}

const queuedResult = (run: PendingRun, { document }: StoredDocument): WorkflowResult =>
  workflowResultWithoutCalls(
    run,
    { workflow_id: run.target_id, name: (document as Workflow).meta.name },
    QUEUED,
  );
