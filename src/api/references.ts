// What objects name of one another: whether it may be named, and what becomes of those that name
// what is deleted.
import type { Static, TObject } from "typebox";
import { canRead, canRun } from "../model/access.ts";
import type { Call } from "../model/call.ts";
import { invalid } from "../model/errors.ts";
import { reportResource, withRows } from "../model/report.ts";
import type { Resource } from "../model/resource.ts";
import type { Token } from "../model/token.ts";
import { show, summarizeFaults } from "../model/validate.ts";
import { withoutCall, workflowResource } from "../model/workflow.ts";
import type { Workflow } from "../model/workflow.ts";
import type { Store } from "../store/store.ts";
import { follow } from "./owned-documents.ts";
import type { Change } from "./owned-documents.ts";
import { removeDeploymentsOf } from "./routes/deployments.ts";

// References are checked where they change: an object whose references were good once stays open to
// other changes. What is named is locked: it cannot be deleted before the object that names it is
// there to be found.

/**
 * Throws `invalid` unless the call's setting may be used by whoever changes the call, and its token
 * belongs to it.
 */
export async function assertCredentials(
  { store, principal }: Change,
  { request }: Call,
  before?: Call,
): Promise<void> {
  const { auth_id, token_id } = request;
  if (
    auth_id === (before?.request.auth_id ?? null) &&
    token_id === (before?.request.token_id ?? null)
  )
    return;
  if (auth_id === null && token_id === null) return;
  if (auth_id === null)
    throw invalid(`request.token_id: ${show(token_id)} is given without request.auth_id`);
  const setting = await store.documents.getForUpdate("auth_setting", auth_id);
  if (!setting || !canRead(principal, setting))
    throw invalid(
      `request.auth_id: ${show(auth_id)} is not an Authentication Setting that you may read`,
    );
  if (token_id === null) return;
  const token = await store.documents.getForUpdate("token", token_id);
  const isOf =
    token && canRead(principal, token) && (token.document as Token).meta.auth_id === auth_id;
  if (!isOf)
    throw invalid(
      `request.token_id: ${show(token_id)} is not a Token of yours for the Authentication Setting ${show(auth_id)}`,
    );
}

/**
 * Throws `invalid` unless whoever changes the workflow may run each call that it has not named
 * before.
 */
export async function assertRunnable(
  { store, principal }: Change,
  { workflow }: Workflow,
  before?: Workflow,
): Promise<void> {
  const known = new Set(before?.workflow.call_ids);
  const added = new Set(workflow.call_ids.filter((id) => !known.has(id)));
  // In one order for all, so that two changes never wait for each other.
  const runnable = new Set<string>();
  for (const id of [...added].toSorted()) {
    const call = await store.documents.getForUpdate("call", id);
    if (call && canRun(principal, call)) runnable.add(id);
  }
  const faults = workflow.call_ids.flatMap((id, n) =>
    known.has(id) || runnable.has(id)
      ? []
      : [`workflow.call_ids[${n}]: ${show(id)} is not an API Call that you may run`],
  );
  if (faults.length > 0) throw invalid(summarizeFaults(faults));
}

/** Throws `invalid`, saying how many there are, while objects of these kinds name the object. */
export async function assertUnused(
  store: Store,
  what: string,
  field: "auth_id" | "token_id",
  id: string,
  kinds: readonly (keyof typeof LABELS)[],
): Promise<void> {
  const uses: string[] = [];
  for (const kind of kinds) {
    const count = await store.documents.count(kind, field, id);
    if (count > 0) uses.push(countOf(kind, count));
  }
  if (uses.length > 0) throw invalid(`This ${what} is used by ${uses.join(" and ")}`);
}

const LABELS = { call: "API Call", token: "Token" } as const;

const countOf = (kind: keyof typeof LABELS, count: number): string =>
  `${count} ${LABELS[kind]}${count === 1 ? "" : "s"}`;

/** Part of deleting a call: its deployments go, and workflows and reports name it no more. */
export async function forgetCall(store: Store, callId: string): Promise<void> {
  await removeDeploymentsOf(store, callId);
  await changeThoseNaming(store, callId, workflowResource, (workflow) =>
    withoutCall(workflow, callId),
  );
  await changeThoseNaming(store, callId, reportResource, (report) =>
    withRows(report, ({ call_id }) => call_id !== callId),
  );
}

async function changeThoseNaming<S extends TObject>(
  store: Store,
  callId: string,
  resource: Resource<S>,
  change: (document: Static<S>) => Static<S>,
): Promise<void> {
  const { kind } = resource;
  for (const { id } of await store.documents.listAll(kind, "call_id", callId)) {
    const found = await store.documents.getForUpdate(kind, id);
    if (found) await follow(store, resource, found, change);
  }
}
