// Workflows.
import { canRun } from "../../model/access.ts";
import { invalid } from "../../model/errors.ts";
import { show, summarizeFaults } from "../../model/validate.ts";
import { workflowResource } from "../../model/workflow.ts";
import type { Workflow } from "../../model/workflow.ts";
import { filteredList, getEndpoint, listEndpoint, writeEndpoints } from "../crud.ts";
import type { Endpoint, EndpointDeps } from "../endpoint.ts";
import type { Change } from "../owned-documents.ts";
import { removeDeploymentsOf } from "./deployments.ts";
import { workflowRunEndpoints } from "./runs.ts";

export function workflowEndpoints(deps: EndpointDeps): Endpoint[] {
  const workflows = {
    deps,
    resource: workflowResource,
    hooks: { prepare: withRunnableCalls, removed: removeDeploymentsOf },
    path: "/workflows/",
    tag: "Workflows",
    noun: "Workflow",
    one: "a Workflow",
    deletion: "For its owner only. Deletes its Deployments; the API no longer shows its results.",
  };
  const [create, update, remove] = writeEndpoints(workflows);
  return [
    create,
    { ...update, methods: ["PUT"] },
    ...workflowRunEndpoints(deps, update),
    remove,
    getEndpoint(workflows),
    listEndpoint(workflows),
    filteredList(workflows, {
      operationId: "listWorkflowsOfCall",
      path: "/workflows/call/:call_id/",
      summary: "List the Workflows that run an API Call",
      of: ({ call_id }) => ({ kind: "call", id: call_id }),
      filters: ({ call_id }) => ({ call_id }),
    }),
  ];
}

/** Throws `invalid` unless the caller may run each call that is new to the workflow. */
async function withRunnableCalls(
  { store, principal }: Change,
  workflow: Workflow,
  before?: Workflow,
): Promise<Workflow> {
  const { call_ids } = workflow.workflow;
  const known = new Set(before?.workflow.call_ids);
  const added = new Set(call_ids.filter((id) => !known.has(id)));
  const runnable = new Set<string>();
  // Locked in a fixed order, so that two changes never wait for each other.
  for (const id of [...added].toSorted()) {
    const call = await store.documents.getForUpdate("call", id);
    if (call && canRun(principal, call)) runnable.add(id);
  }
  const faults = call_ids.flatMap((id, n) =>
    known.has(id) || runnable.has(id)
      ? []
      : [`workflow.call_ids[${n}]: ${show(id)} is not an API Call that you may run`],
  );
  if (faults.length > 0) throw invalid(summarizeFaults(faults));
  return workflow;
}
