// Deployments. Their schedules are stored alongside, for the scheduler.
import { DEPLOYMENT_DELETED, unableToRun } from "../../dispatch/build-tick.ts";
import { PUBLISH_AHEAD_MS } from "../../dispatch/dispatch.ts";
import { canRun, isOwner, ownedBy } from "../../model/access.ts";
import type { Principal } from "../../model/access.ts";
import { activeFrom, deploymentResource } from "../../model/deployment.ts";
import type { Deployment } from "../../model/deployment.ts";
import { invalid } from "../../model/errors.ts";
import { show, summarizeFaults } from "../../model/validate.ts";
import type { Store } from "../../store/store.ts";
import { filteredList, getEndpoint, listEndpoint, writeEndpoints } from "../crud.ts";
import type { Endpoint, EndpointDeps } from "../endpoint.ts";
import type { Change, DocumentHooks } from "../owned-documents.ts";
import { holdLocation } from "../requested-location.ts";

export function deploymentEndpoints(deps: EndpointDeps): Endpoint[] {
  const deployments = {
    deps,
    resource: deploymentResource,
    hooks,
    path: "/deployments/",
    tag: "Deployments",
    noun: "Deployment",
    one: "a Deployment",
    readers: "For its owner, and for the owner of the API Call or Workflow that it runs.",
    deletion:
      "For its owner, and for the owner of the API Call or Workflow that it runs. Cancels its runs that no agent has received.",
  };
  return [
    ...writeEndpoints(deployments),
    getEndpoint(deployments),
    listEndpoint(deployments),
    filteredList(deployments, {
      operationId: "listDeploymentsOfCall",
      path: "/deployments/call/:call_id/",
      summary: "List your Deployments of an API Call; if it is yours, also those of others",
      of: ({ call_id }) => ({ kind: "call", id: call_id }),
      filters: ({ call_id }) => ({ target_id: call_id }),
      seesAll: (reader, { call_id }) => ownsTarget(deps.store, reader, call_id),
    }),
    filteredList(deployments, {
      operationId: "listDeploymentsOfWorkflow",
      path: "/deployments/workflow/:workflow_id/",
      summary: "List your Deployments of a Workflow; if it is yours, also those of others",
      of: ({ workflow_id }) => ({ kind: "workflow", id: workflow_id }),
      filters: ({ workflow_id }) => ({ target_id: workflow_id }),
      seesAll: (reader, { workflow_id }) => ownsTarget(deps.store, reader, workflow_id),
    }),
  ];
}

const hooks: DocumentHooks<Deployment> = {
  async prepare(change, { deployment, ...rest }, before) {
    const { target_id } = deployment;
    const isNew = target_id !== before?.deployment.target_id;
    const targetFault = await faultOfTarget(change, target_id, isNew);
    const location = await holdLocation(
      change.store,
      "deployment.location_id",
      deployment.location_id,
    );
    const faults = [targetFault ?? [], "fault" in location ? location.fault : []].flat();
    if (faults.length > 0 || "fault" in location) throw invalid(summarizeFaults(faults));
    return { ...rest, deployment: { ...deployment, location_id: location.id } };
  },

  async written({ store, principal, now }, after, before) {
    const active_from = activeFrom(before, after, now);
    if (active_from === undefined) return;
    const { target_id } = after.deployment;
    const workflow = await store.documents.get("workflow", target_id);
    await store.schedules.set({
      ...after.deployment,
      deployment_id: after.id,
      ...ownedBy(principal),
      target_kind: workflow ? "workflow" : "call",
      active_from,
    });
  },

  async removed({ store }, id) {
    await endSchedule(store, id, await store.schedules.targetsOf(id));
  },

  oversees: (store, caller, document) =>
    ownsTarget(store, caller, document?.deployment.target_id ?? ""),
};

/** Ends the schedule, and cancels the deployment's runs of its current and former targets. */
async function endSchedule(store: Store, id: string, targetIds: readonly string[]): Promise<void> {
  const now = await store.now();
  await store.schedules.remove(id, now);
  for (const target_id of targetIds) {
    const runs = { target_id, deployment_id: id };
    const due = await store.pendingRuns.withdraw(runs, now, PUBLISH_AHEAD_MS);
    await store.results.recordUnreported(due.map((run) => unableToRun(run, DEPLOYMENT_DELETED)));
  }
}

/** Takes as many look-ups for a missing target as for any other. */
async function ownsTarget(
  { documents }: Store,
  caller: Principal,
  targetId: string,
): Promise<boolean> {
  const targets = [
    await documents.get("call", targetId),
    await documents.get("workflow", targetId),
  ];
  return targets.some((target) => target && isOwner(caller, target));
}

/**
 * Locks a new target until its deployment is stored: a concurrent deletion then deletes both. The
 * deletion of the present target waits for the deployment, which must not wait for the deletion. A
 * target that the caller may not run takes as many look-ups as one that does not exist.
 */
async function faultOfTarget(
  { store: { documents }, principal }: Change,
  targetId: string,
  isNew: boolean,
): Promise<string | undefined> {
  const find = isNew ? "getForUpdate" : "get";
  for (const kind of ["call", "workflow"] as const) {
    const target = await documents[find](kind, targetId);
    if (target && canRun(principal, target)) return undefined;
  }
  return `deployment.target_id: ${show(targetId)} is not a call or workflow that you may run`;
}

/**
 * Part of deleting a call or workflow. Its next runs stay, and end with nothing to run; so do those
 * of deployments that have another target by now.
 */
export async function removeDeploymentsOf(
  { store }: Pick<Change, "store">,
  targetId: string,
): Promise<void> {
  const deployments = await lockDeploymentsOf(store, targetId);
  const now = await store.now();
  for (const deployment_id of [null, ...deployments]) {
    const runs = { target_id: targetId, deployment_id };
    await store.pendingRuns.withdraw(runs, now, PUBLISH_AHEAD_MS);
  }
  for (const id of deployments) {
    const earlier = (await store.schedules.targetsOf(id)).filter((each) => each !== targetId);
    await endSchedule(store, id, earlier);
    await store.documents.remove("deployment", id);
  }
}

/**
 * Locks all before the first is deleted: the deletion waits for changes in progress, and none of
 * them for the deletion. Leaves out those that have been deleted or moved by then.
 */
async function lockDeploymentsOf({ documents }: Store, targetId: string): Promise<string[]> {
  const locked: string[] = [];
  for await (const id of documents.ids("deployment", { target_id: targetId })) {
    const found = await documents.getForUpdate("deployment", id);
    if (found && (found.document as Deployment).deployment.target_id === targetId) locked.push(id);
  }
  return locked;
}
