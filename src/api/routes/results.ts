// Results of runs.
import { notFound } from "../../model/errors.ts";
import type { Call } from "../../model/call.ts";
import { ContentSchema } from "../../model/content.ts";
import { ResultSchema } from "../../model/result.ts";
import type { Result } from "../../model/result.ts";
import { QUEUED, resultWithoutCall } from "../../model/result-without-call.ts";
import type { Page } from "../../store/ports/document-store.ts";
import type { PendingRun } from "../../store/ports/run-store.ts";
import type { Store } from "../../store/store.ts";
import { defineEndpoint } from "../http/endpoint.ts";
import type { Endpoint, EndpointDeps } from "../http/endpoint.ts";
import { ListedResultSchema, withoutRequest } from "../listed-result.ts";
import { listOf, listPage } from "../lists.ts";
import { named } from "../openapi/openapi.ts";
import { LIST_PAGING } from "../http/parameters.ts";
import { listWithQueued } from "../queued-results.ts";
import { callSharing } from "../shared-calls.ts";

const tag = "Results";

export const resultEndpoints = (deps: EndpointDeps): Endpoint[] => [
  defineEndpoint({
    operationId: "listResultsOfCall",
    methods: ["GET"],
    path: "/calls/:id/results/",
    aliases: ["/results/call/:id/"],
    tag,
    summary: "List the results of an API Call",
    level: "VIEWER",
    query: LIST_PAGING,
    answer: listOf(named("ResultWithoutRequest", ListedResultSchema)),
    async handle(request) {
      const { principal, params } = request;
      const call = await callSharing("results", deps.store, principal, params.id);
      if (!call) throw notFound("API Call");
      return listPage(deps.cursors, request, async (page) =>
        (await resultsOf(deps.store, call, page)).map(withoutRequest),
      );
    },
  }),
  defineEndpoint({
    operationId: "getResult",
    methods: ["GET"],
    path: "/results/:result_id/",
    tag,
    summary: "Get a result, with the request that was made",
    level: "VIEWER",
    answer: named("Result", ResultSchema),
    async handle({ principal, params }) {
      const { store } = deps;
      const pending = await store.pendingRuns.get(params.result_id);
      const result = await store.results.get(params.result_id);
      const callId = result?.meta.call_id ?? pending?.target_id ?? "";
      const call = await callSharing("results", store, principal, callId);
      if (!call) throw notFound("Result");
      return result ?? queuedResult(pending as PendingRun, call);
    },
  }),
  defineEndpoint({
    operationId: "getResultContent",
    methods: ["GET"],
    path: "/results/:result_id/content",
    tag,
    summary: "Get the body of the response, as far as it was kept",
    level: "VIEWER",
    answer: named("ResultContent", ContentSchema),
    async handle({ principal, params }) {
      const { store } = deps;
      const result = await store.results.get(params.result_id);
      const callId = result?.meta.call_id ?? "";
      const call = await callSharing("results", store, principal, callId);
      if (!call) throw notFound("Result");
      const content = await store.results.content(params.result_id);
      if (!content) throw notFound("Content");
      return content;
    },
  }),
];

const resultsOf = (store: Store, call: Call, page: Page): Promise<Result[]> =>
  listWithQueued(
    store,
    {
      targetId: call.id,
      recorded: (of) => store.results.listOfCall(call.id, of),
      queued: (run) => queuedResult(run, call),
    },
    page,
  );

const queuedResult = (run: PendingRun, { meta, request }: Call): Result =>
  resultWithoutCall(
    run,
    { result_id: run.result_id, call_id: run.target_id, domain: meta.domain, request },
    QUEUED,
  );
