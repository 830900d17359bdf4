// Insights: the weekly and monthly scores of calls.
import { notFound } from "../../model/errors.ts";
import { EXAMPLE, Hostname, Id, Name, Timestamp, mark } from "../../model/fields.ts";
import { periodStart } from "../../model/periods.ts";
import { Type } from "../../model/type.ts";
import { defineEndpoint, named } from "../http/endpoint.ts";
import type { Endpoint, EndpointDeps } from "../http/endpoint.ts";
import { listOf, listPage } from "../http/paging.ts";
import { LIST_PAGING, truth } from "../http/parameters.ts";
import { callSharing } from "../shared-calls.ts";

const Score = Type.Integer({ minimum: 0, maximum: 999, examples: [874] });
const ReportId = Type.String({ examples: [`${EXAMPLE.id}__2026-08-03__2026-08-10`] });
const Url = Type.String({ examples: [EXAMPLE.url] });

const measures = {
  score: Score,
  pass_percent: Type.Number({ examples: [99.5] }),
  outlier_percent: Type.Number({ examples: [0.4] }),
  mean_test_length: Type.Number({ description: "milliseconds", examples: [120] }),
  sd_test_length: Type.Number({ description: "milliseconds", examples: [35] }),
};

const InsightSchema = named(
  "Insight",
  Type.Object({
    id: ReportId,
    call_id: Id,
    domain: Hostname,
    name: Name,
    start_date: Timestamp,
    end_date: Timestamp,
    report_type: Type.Enum([0, 1], { description: "0: monthly, 1: weekly" }),
    rank: Type.Integer({ description: "1: the best; -1: no score", examples: [1] }),
    ...measures,
    version: Type.Enum(["v4"]),
  }),
);

const RankSchema = named(
  "InsightRank",
  Type.Object({
    meta: Type.Object({
      start: Type.String({ description: "date", examples: ["2026-08-03"] }),
      period: Type.Enum(["weekly", "monthly"]),
    }),
    results: Type.Array(
      Type.Object({
        id: Id,
        insights_id: ReportId,
        api_name: Name,
        api_url: Url,
        url: Url,
        ...measures,
        results: Type.Array(Type.Tuple([Timestamp, Score])),
        filenames: Type.Array(mark(ReportId, { description: "id of a report" })),
        most_recent: Timestamp,
      }),
    ),
  }),
);

const WEEKLY = truth("weekly reports; otherwise monthly ones");
const RANKED_PERIODS = 8;
const common = { methods: ["GET"], tag: "Insights", level: "VIEWER" } as const;

export const insightEndpoints = ({ store, cursors }: EndpointDeps): Endpoint[] => [
  defineEndpoint({
    ...common,
    operationId: "listInsights",
    path: "/insights/",
    summary: "List the reports of the calls whose statistics you may see",
    query: LIST_PAGING,
    answer: listOf(InsightSchema),
    handle: (request) => listPage(cursors, request, async () => []),
  }),
  defineEndpoint({
    ...common,
    operationId: "rankInsights",
    path: "/insights/rank/",
    summary: `Rank calls by their scores of the previous ${RANKED_PERIODS} closed periods, best first`,
    query: {
      reverse: truth("worst first"),
      inc_org: truth("also calls that are shared with the organization"),
      weekly: WEEKLY,
    },
    answer: RankSchema,
    async handle({ query: { weekly } }) {
      const start = rankedFrom(weekly, await store.now());
      return {
        meta: { start, period: weekly ? "weekly" : "monthly" },
        results: [],
      };
    },
  }),
  defineEndpoint({
    ...common,
    operationId: "getLatestInsight",
    path: "/insights/call/:call_id/",
    summary: "The latest report of a call; `{}` if there is none",
    missing: "API Call",
    query: { weekly: WEEKLY },
    answer: Type.Union([InsightSchema, Type.Object({})]),
    async handle({ principal, params }) {
      const call = await callSharing("stats", store, principal, params.call_id);
      if (!call) throw notFound("API Call");
      return {};
    },
  }),
  defineEndpoint({
    ...common,
    operationId: "getInsight",
    path: "/insights/:id/",
    summary: "Get a report",
    missing: "Insights report",
    answer: InsightSchema,
    async handle() {
      throw notFound("Insights report");
    },
  }),
];

/**
 * The first day of the oldest ranked period. The current period does not count: it is not closed.
 */
function rankedFrom(weekly: boolean, now: number): string {
  const kind = weekly ? "WEEK" : "MONTH";
  let start = periodStart(kind, now);
  for (let n = 0; n < RANKED_PERIODS; n += 1) start = periodStart(kind, start - 1);
  return new Date(start).toISOString().slice(0, 10);
}
