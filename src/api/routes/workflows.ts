// Workflows.
import { workflowResource } from "../../model/workflow.ts";
import { createCrud } from "../crud.ts";
import { listBy, readEndpoints, writeEndpoints } from "../crud-endpoints.ts";
import type { Endpoint, EndpointDeps } from "../http/endpoint.ts";
import { assertRunnable } from "../references.ts";
import { removeDeploymentsOf } from "./deployments.ts";
import { workflowRunEndpoints } from "./workflow-runs.ts";

const names = {
  path: "/workflows/",
  tag: "Workflows",
  noun: "Workflow",
  nouns: "Workflows",
  one: "a Workflow",
  many: "Workflows",
} as const;

export function workflowEndpoints(deps: EndpointDeps): Endpoint[] {
  const crud = createCrud(deps, workflowResource, {
    async prepare(change, workflow, before) {
      await assertRunnable(change, workflow, before);
      return workflow;
    },
    removed: removeDeploymentsOf,
  });
  const [create, update, remove] = writeEndpoints(workflowResource, crud, names);
  const { get, list } = readEndpoints(workflowResource, crud, names);
  return [
    create,
    { ...update, methods: ["PUT"] },
    ...workflowRunEndpoints(deps, update),
    remove,
    get,
    list,
    listBy(workflowResource, crud, names, {
      operationId: "listWorkflowsOfCall",
      path: "/workflows/call/:call_id/",
      summary: "List the Workflows that run an API Call",
      filters: ({ call_id }) => ({ call_id }),
    }),
  ];
}
