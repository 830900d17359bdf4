// Results of calls.
import { notFound } from "../../model/errors.ts";
import type { Call } from "../../model/call.ts";
import type { Principal } from "../../model/access.ts";
import { ContentSchema } from "../../model/content.ts";
import type { Content } from "../../model/content.ts";
import { ResultSchema } from "../../model/result.ts";
import type { ListedResult, Result } from "../../model/result.ts";
import { QUEUED, resultWithoutCall } from "../../model/result-without-call.ts";
import { Type } from "../../model/type.ts";
import type { PendingRun } from "../../store/records.ts";
import type { Store } from "../../store/store.ts";
import { defineEndpoint, named } from "../endpoint.ts";
import type { Endpoint, EndpointDeps } from "../endpoint.ts";
import { listOf } from "../http/paging.ts";
import { listResults, RESULT_LIST } from "../result-lists.ts";
import { callSharing } from "../shared-calls.ts";

const tag = "Results";

/** Without the request, which may be large. */
const { request: _request, ...LISTED } = ResultSchema.properties;
export const ListedResultSchema = named("ResultWithoutRequest", Type.Object(LISTED));

export const withoutRequest = ({ request: _request, ...rest }: Result): ListedResult => rest;

export const resultEndpoints = (deps: EndpointDeps): Endpoint[] => [
  defineEndpoint({
    operationId: "listResultsOfCall",
    methods: ["GET"],
    path: "/calls/:id/results/",
    aliases: ["/results/call/:id/"],
    tag,
    summary: "List the results of an API Call",
    description:
      "In creation order, also those of runs that have not ended. Filters combine. Open to those who may see the call's results.",
    missing: "API Call",
    level: "VIEWER",
    query: RESULT_LIST,
    answer: listOf(ListedResultSchema),
    async handle(request) {
      const { principal, params } = request;
      const call = await callSharing("results", deps.store, principal, params.id);
      return listResults(deps, request, {
        targetId: call.id,
        recorded: async (page) =>
          (await deps.store.results.listOfCall(call.id, page)).map(withoutRequest),
        queued: (run) => withoutRequest(queuedResult(run, call)),
      });
    },
  }),
  defineEndpoint({
    operationId: "getResult",
    methods: ["GET"],
    path: "/results/:result_id/",
    tag,
    summary: "Get a result, with the request that was made",
    description:
      "Credentials are masked. A run that has not ended is QUEUED; the results of a deleted call are not found.",
    missing: "Result",
    level: "VIEWER",
    answer: named("Result", ResultSchema),
    handle: ({ principal, params }) => resultOf(deps.store, principal, params.result_id),
  }),
  defineEndpoint({
    operationId: "getResultContent",
    methods: ["GET"],
    path: "/results/:result_id/content",
    tag,
    summary: "Get the body of the response, if it was kept",
    description:
      "Text of up to 32 KiB, credentials masked; otherwise `content` is null and `reason` says why. Not found without a complete response.",
    missing: "Content",
    level: "VIEWER",
    answer: named("ResultContent", ContentSchema),
    handle: ({ principal, params }) => contentOf(deps.store, principal, params.result_id),
  }),
];

async function resultOf(store: Store, principal: Principal, id: string): Promise<Result> {
  const pending = await store.pendingRuns.get(id);
  const result = await store.results.get(id);
  const callId = result?.meta.call_id ?? pending?.target_id ?? "";
  const call = await callSharing("results", store, principal, callId, "Result");
  return result ?? queuedResult(pending as PendingRun, call);
}

async function contentOf(store: Store, principal: Principal, id: string): Promise<Content> {
  await resultOf(store, principal, id);
  const content = await store.results.content(id);
  if (!content) throw notFound("Content");
  return content;
}

const queuedResult = (run: PendingRun, { meta, request }: Call): Result =>
  resultWithoutCall(
    run,
    { result_id: run.result_id, call_id: run.target_id, domain: meta.domain, request },
    QUEUED,
  );
