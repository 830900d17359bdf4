// Insights: the weekly and monthly scores of calls.
import type { Call } from "../../model/call.ts";
import { notFound } from "../../model/errors.ts";
import { parseInsightId } from "../../model/insight.ts";
import type { InsightKind, ListedInsight } from "../../model/insight.ts";
import { periodStart } from "../../model/periods.ts";
import { Type } from "../../model/type.ts";
import { defineEndpoint } from "../endpoint.ts";
import type { ApiRequest, Endpoint, EndpointDeps } from "../endpoint.ts";
import { listOf, toPage } from "../http/paging.ts";
import type { Values } from "../http/parameters.ts";
import { entryOf, reportOf } from "../insight-answers.ts";
import { RANKED_PERIODS, rankCalls } from "../insight-rank.ts";
import { callSharing, callsSharing } from "../shared-calls.ts";
import {
  InsightReportSchema,
  InsightSchema,
  LATEST_PARAMETERS,
  LIST_PARAMETERS,
  RANK_PARAMETERS,
  RankSchema,
} from "./insight-schemas.ts";

const MISSING = "Insights report";
const common = { methods: ["GET"], tag: "Insights", level: "VIEWER" } as const;

export const insightEndpoints = (deps: EndpointDeps): Endpoint[] => [
  defineEndpoint({
    ...common,
    operationId: "listInsights",
    path: "/insights/",
    summary: "List the reports of the calls whose statistics you may see",
    description: "In the order in which they were first made.",
    query: LIST_PARAMETERS,
    answer: listOf(InsightSchema),
    handle: (request) => listInsights(deps, request),
  }),
  defineEndpoint({
    ...common,
    operationId: "rankInsights",
    path: "/insights/rank/",
    summary: `Rank calls by their scores of the previous ${RANKED_PERIODS} closed periods, best first`,
    description:
      "By each call's most recent report in these periods, which also gives its score and measures; calls without a score come last. Only your own calls, and with `inc_org` those that others share with the organization.",
    query: RANK_PARAMETERS,
    answer: RankSchema,
    handle: ({ principal, query: { reverse, inc_org, weekly } }) =>
      rankCalls(deps.store, principal, {
        kind: kindOf(weekly),
        withShared: inc_org,
        worstFirst: reverse,
      }),
  }),
  defineEndpoint({
    ...common,
    operationId: "getLatestInsight",
    path: "/insights/call/:call_id/",
    summary: "The latest report of a call; `{}` if there is none",
    missing: "API Call",
    query: LATEST_PARAMETERS,
    answer: Type.Union([InsightSchema, Type.Object({})]),
    async handle({ principal, params: { call_id }, query: { weekly } }) {
      const call = await callSharing("stats", deps.store, principal, call_id);
      const report = await deps.store.insights.latest({ call_id, kind: kindOf(weekly) });
      return report ? entryOf(report, nameOf(call)) : {};
    },
  }),
  defineEndpoint({
    ...common,
    operationId: "getInsight",
    path: "/insights/:id/",
    summary: "Get a report, with what explains its score",
    description:
      "The parts of the score with what each cost, the change from the period before, and where the time and the failures were.",
    missing: MISSING,
    answer: InsightReportSchema,
    handle: (request) => getInsight(deps, request),
  }),
];

type ListRequest = ApiRequest & { readonly query: Values<typeof LIST_PARAMETERS> };

async function listInsights({ store, cursors }: EndpointDeps, request: ListRequest) {
  const { principal, scope } = request;
  const { call_id, cursor, limit, weekly } = request.query;
  const after = Number(cursors.decode(scope(), cursor)?.[0] ?? 0);
  const kind = weekly === undefined ? undefined : kindOf(weekly);
  const page = { after, limit: limit + 1, kind };
  const rows = await readPage(store, principal, call_id, page);
  const { meta, items } = toPage(rows, limit, ({ number }) => cursors.encode(scope(), [number]));
  return { meta, results: items.map((report) => entryOf(report, report)) };
}

async function readPage(
  store: EndpointDeps["store"],
  principal: ApiRequest["principal"],
  callId: string | undefined,
  page: Parameters<EndpointDeps["store"]["insights"]["list"]>[1],
): Promise<ListedInsight[]> {
  if (callId === undefined) return store.insights.list(principal, page);
  const open = await callsSharing("stats", store, principal, [callId]);
  return open.has(callId) ? store.insights.listOfCall(callId, page) : [];
}

async function getInsight(
  { store }: EndpointDeps,
  { principal, params }: ApiRequest<"/insights/:id/">,
): Promise<unknown> {
  const key = parseInsightId(params.id);
  if (!key) throw notFound(MISSING);
  const call = await callSharing("stats", store, principal, key.call_id, MISSING);
  const report = await store.insights.get(key);
  if (!report) throw notFound(MISSING);
  const start = periodStart(key.kind, key.start - 1);
  const before = await store.insights.get({ ...key, start });
  return reportOf(report, before, nameOf(call));
}

const kindOf = (weekly: boolean): InsightKind => (weekly ? "WEEK" : "MONTH");

const nameOf = ({ meta: { name, domain } }: Call) => ({ name, domain });
