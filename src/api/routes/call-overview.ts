// Overviews of calls: the state and the last 24 hours of each.
import { callResource } from "../../model/call.ts";
import { HOURS } from "../../model/call-overview.ts";
import { CALL_STATES } from "../../model/call-state.ts";
import { Hostname, Id, LocationRef, Name, Owner, Timestamp, nullable } from "../../model/fields.ts";
import { RESULT_CODES, ResultCategorySchema } from "../../model/result.ts";
import { Type } from "../../model/type.ts";
import { asListed, overviewOf } from "../call-overview.ts";
import { defineEndpoint, named } from "../endpoint.ts";
import type { Endpoint, EndpointDeps } from "../endpoint.ts";
import { listOf, listPage, MAX_PAGE_BYTES } from "../http/paging.ts";
import { LIST_PAGING } from "../http/parameters.ts";
import { visible } from "../owned-documents.ts";

const Count = Type.Integer({ minimum: 0 });
const Counts = Type.Array(Count, {
  description: `of each of the ${HOURS} hours, oldest first`,
  examples: [Array.from({ length: HOURS }, () => 0)],
});
const Latency = nullable(Type.Integer({ description: "milliseconds", examples: [120] }));

const OUTCOME = {
  result_id: Id,
  result: Type.Enum([...RESULT_CODES]),
  result_category: ResultCategorySchema,
  time: Timestamp,
  latency: Latency,
};

const NowSchema = Type.Object(
  {
    state: Type.Enum([...CALL_STATES], {
      description:
        "the worst of `locations`, in this order: FAILING, WARNING, MISSED, NO_RESULT (the call was not made), PASSING; NO_RESULT also where no location has a result yet",
      examples: ["FAILING"],
    }),
    at: Type.Array(LocationRef, { description: "the locations in this state" }),
    is_deployed: Type.Boolean({
      description: "false: `locations` has only the location of the last result",
      examples: [true],
    }),
    locations: Type.Array(
      Type.Object({
        location_id: LocationRef,
        last: nullable(
          Type.Object(OUTCOME, {
            description:
              "the latest result there, by start or due time, today or in the three days before (UTC); null: none",
          }),
        ),
      }),
      {
        description:
          "where the call is deployed; without deployments of its own, where its workflows are",
      },
    ),
  },
  { description: "over all locations where it is deployed" },
);

const OverviewSchema = named(
  "CallOverview",
  Type.Object({
    id: Id,
    name: Name,
    tags: Type.Array(Type.String(), { examples: [["timeout:10"]] }),
    method: Type.String({ examples: ["GET"] }),
    domain: Hostname,
    owner: Owner,
    locations: Type.Array(LocationRef, {
      description:
        "where you have deployed it and, if it is yours, where others have; without deployments, where it ran in the last 24 hours",
    }),
    state: nullable(
      Type.Object(
        { ...OUTCOME, location_id: LocationRef },
        { description: "the latest result, by start or due time" },
      ),
    ),
    now: nullable(NowSchema),
    day: nullable(
      Type.Object(
        {
          time: Type.String({
            description: "start of the first hour",
            examples: ["2026-11-21T15:00:00Z"],
          }),
          count: Count,
          pass_percent: nullable(Type.Number({ examples: [99.5] })),
          p50: Latency,
          p95: Latency,
          missed: Count,
          hours: Type.Object({ pass: Counts, warning: Counts, fail: Counts, missed: Counts }),
        },
        { description: "the current hour and the 23 before it, over every call made" },
      ),
    ),
  }),
);

export const callOverviewEndpoints = ({ store, cursors }: EndpointDeps): Endpoint[] => [
  defineEndpoint({
    operationId: "listCallOverviews",
    methods: ["GET"],
    path: "/calls/overview/",
    tag: "API Calls",
    summary: "List the API Calls that you may read, with their state and their last 24 hours",
    description:
      "In creation order. `state` is null for a call without results; `state` and `now` for one whose results you may not read, and `day` for one whose statistics you may not read.",
    level: "VIEWER",
    query: LIST_PAGING,
    answer: listOf(OverviewSchema),
    async handle(request) {
      const { principal } = request;
      const { meta, results } = await listPage(
        cursors,
        request,
        (page) => store.callOverview.list(principal, page),
        (page) => store.documents.fitting("call", principal, page, MAX_PAGE_BYTES),
      );
      return { meta, results: await overviewOf(store, principal, results) };
    },
  }),
  defineEndpoint({
    operationId: "getCallOverview",
    methods: ["GET"],
    path: "/calls/:id/overview/",
    tag: "API Calls",
    summary: "An API Call with its state and its last 24 hours",
    description: "As in the list of all.",
    missing: "API Call",
    level: "VIEWER",
    answer: OverviewSchema,
    async handle({ principal, params }) {
      const call = asListed(await visible(store, principal, callResource, params.id));
      return (await overviewOf(store, principal, [call]))[0];
    },
  }),
];
