// API Calls. `GET calls/<id>/` answers with statistics instead when the query has `kind`.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Static, TObject } from "typebox";
import { canRead } from "../../model/access.ts";
import { callResource } from "../../model/call.ts";
import type { Call } from "../../model/call.ts";
import { invalid } from "../../model/errors.ts";
import { EXAMPLE } from "../../model/fields.ts";
import { reportResource, withRows } from "../../model/report.ts";
import type { Resource } from "../../model/resource.ts";
import type { Token } from "../../model/token.ts";
import { hostOf } from "../../model/url.ts";
import { show } from "../../model/validate.ts";
import { withoutCall, workflowResource } from "../../model/workflow.ts";
import type { Store } from "../../store/store.ts";
import { filteredList, getEndpoint, writeEndpoints } from "../crud.ts";
import type { Endpoint, EndpointDeps } from "../endpoint.ts";
import { text } from "../http/parameters.ts";
import { follow } from "../owned-documents.ts";
import type { Change } from "../owned-documents.ts";
import { callOverviewEndpoints } from "./call-overview.ts";
import { removeDeploymentsOf } from "./deployments.ts";
import { callOrStat } from "./stats.ts";

export function callEndpoints(deps: EndpointDeps): Endpoint[] {
  const calls = {
    deps,
    resource: callResource,
    hooks: { prepare: withCredentials, removed: forgetCall },
    path: "/calls/",
    tag: "API Calls",
    noun: "Call",
    one: "an API Call",
    deletion:
      "For its owner only. Deletes its Deployments and removes it from Workflows and Reports; the API no longer shows its results.",
  };
  return [
    ...callOverviewEndpoints(deps),
    ...writeEndpoints(calls),
    callOrStat(deps, getEndpoint(calls)),
    filteredList(calls, {
      operationId: "listCalls",
      path: "/calls/",
      summary: "List the API Calls that you may read",
      query: { domain: text("only calls to this host", EXAMPLE.domain) },
      filters: (_params, { domain }) =>
        domain === undefined ? {} : { domain: hostOf(`http://${domain}/`) ?? domain },
    }),
    filteredList(calls, {
      operationId: "listCallsOfAuthSetting",
      path: "/calls/auth/:auth_id/",
      summary: "List the API Calls that use an Authentication Setting",
      of: ({ auth_id }) => ({ kind: "auth_setting", id: auth_id }),
      filters: ({ auth_id }) => ({ auth_id }),
    }),
  ];
}

/**
 * Throws `invalid` unless the caller may use the call's setting, and its token belongs to that
 * setting. Checks references only when they change: a call stays open to other changes. Locks what
 * it refers to until its own row is stored: a concurrent deletion then sees it.
 */
async function withCredentials(
  { store, principal }: Change,
  call: Call,
  before?: Call,
): Promise<Call> {
  const { auth_id, token_id } = call.request;
  const [authBefore = null, tokenBefore = null] = [
    before?.request.auth_id,
    before?.request.token_id,
  ];
  if (auth_id === authBefore && token_id === tokenBefore) return call;
  if (auth_id === null && token_id === null) return call;
  if (auth_id === null)
    throw invalid(`request.token_id: ${show(token_id)} is given without request.auth_id`);
  const setting = await store.documents.getForUpdate("auth_setting", auth_id);
  if (!setting || !canRead(principal, setting))
    throw invalid(
      `request.auth_id: ${show(auth_id)} is not an Authentication Setting that you may read`,
    );
  if (token_id === null) return call;
  const token = await store.documents.getForUpdate("token", token_id);
  const isOfSetting =
    token && canRead(principal, token) && (token.document as Token).meta.auth_id === auth_id;
  if (isOfSetting) return call;
  throw invalid(
    `request.token_id: ${show(token_id)} is not a Token of yours for the Authentication Setting ${show(auth_id)}`,
  );
}

/** Deletes the call's deployments, and removes it from workflows and reports. */
async function forgetCall(change: Pick<Change, "store">, callId: string): Promise<void> {
  const { store } = change;
  await removeDeploymentsOf(change, callId);
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
  for await (const id of store.documents.ids(kind, { call_id: callId })) {
    const found = await store.documents.getForUpdate(kind, id);
    if (found) await follow(store, resource, found, change);
    await nextTurn(); // there may be thousands, and other requests wait meanwhile
  }
}
