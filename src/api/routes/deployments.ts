// Deployments: documents whose schedule is kept beside them, for the scheduler.
import { canRun } from "../../model/access.ts";
import { activeFrom, deploymentResource } from "../../model/deployment.ts";
import type { Deployment } from "../../model/deployment.ts";
import { invalid } from "../../model/errors.ts";
import { show, summarizeFaults } from "../../model/validate.ts";
import type { Store } from "../../store/store.ts";
import { createCrud } from "../crud.ts";
import type { Change, DocumentHooks } from "../owned-documents.ts";
import { listBy, readEndpoints, writeEndpoints } from "../crud-endpoints.ts";
import type { Endpoint, EndpointDeps } from "../http/endpoint.ts";
import { resolveLocation } from "../locations.ts";

const names = {
  path: "/deployments/",
  tag: "Deployments",
  noun: "Deployment",
  nouns: "Deployments",
  one: "a Deployment",
  many: "Deployments",
} as const;

export function deploymentEndpoints(deps: EndpointDeps): Endpoint[] {
  const crud = createCrud(deps, deploymentResource, hooks);
  const { get, list } = readEndpoints(deploymentResource, crud, names);
  return [
    ...writeEndpoints(deploymentResource, crud, names),
    get,
    list,
    listBy(deploymentResource, crud, names, {
      operationId: "listDeploymentsOfCall",
      path: "/deployments/call/:call_id/",
      summary: "List the Deployments of an API Call",
      filters: ({ call_id }) => ({ target_id: call_id }),
    }),
    listBy(deploymentResource, crud, names, {
      operationId: "listDeploymentsOfWorkflow",
      path: "/deployments/workflow/:workflow_id/",
      summary: "List the Deployments of a Workflow",
      filters: ({ workflow_id }) => ({ target_id: workflow_id }),
    }),
  ];
}

const hooks: DocumentHooks<Deployment> = {
  async prepare(change, { deployment, ...rest }) {
    const targetFault = await faultOfTarget(change, deployment.target_id);
    const location = await resolveLocation(
      change.store,
      "deployment.location_id",
      deployment.location_id,
    );
    const faults = [targetFault ?? [], "fault" in location ? location.fault : []].flat();
    if (faults.length > 0 || "fault" in location) throw invalid(summarizeFaults(faults));
    return { ...rest, deployment: { ...deployment, location_id: location.id } };
  },

  async written({ store, now }, after, before) {
    const active_from = activeFrom(before, after, now);
    if (active_from === undefined) return;
    const { target_id } = after.deployment;
    const workflow = await store.documents.get("workflow", target_id);
    await store.schedules.set({
      ...after.deployment,
      deployment_id: after.id,
      owner: after.meta.owner,
      target_kind: workflow ? "workflow" : "call",
      active_from,
    });
  },

  removed: (store, id) => store.schedules.remove(id),
};

/**
 * Locks the target, so that it cannot be deleted before its new deployment is there to be deleted
 * with it. What may not be run is looked for as long as what does not exist.
 */
async function faultOfTarget(
  { store, principal }: Change,
  targetId: string,
): Promise<string | undefined> {
  for (const kind of ["call", "workflow"] as const) {
    const target = await store.documents.getForUpdate(kind, targetId);
    if (target && canRun(principal, target)) return undefined;
  }
  return `deployment.target_id: ${show(targetId)} is not a call or workflow that you may run`;
}

/** Part of deleting a call or workflow: nothing stays that would run it. */
export async function removeDeploymentsOf(store: Store, targetId: string): Promise<void> {
  const deployments = await store.documents.listAll("deployment", "target_id", targetId);
  for (const { id } of deployments) {
    await store.schedules.remove(id);
    await store.documents.remove("deployment", id);
  }
}
