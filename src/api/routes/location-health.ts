// The health of each location: its agents, pending runs, and the punctuality and accuracy of its
// calls.
import { Timestamp, nullable } from "../../model/fields.ts";
import { formatInstant } from "../../model/instant.ts";
import { Type } from "../../model/type.ts";
import { defineEndpoint, named } from "../endpoint.ts";
import type { Endpoint, EndpointDeps } from "../endpoint.ts";
import { listOf } from "../http/paging.ts";
import { LIST_PAGING } from "../http/parameters.ts";
import { createLocationHealth, MOST_PENDING, MOST_RESULTS } from "../location-health.ts";
import type { Load } from "../location-health.ts";
import { LocationSchema, pageOfLocations } from "./locations.ts";
import type { toLocation } from "./locations.ts";

const PercentilesSchema = (description: string) =>
  nullable(Type.Object({ p50: Type.Number(), p95: Type.Number(), p99: Type.Number() }), {
    description,
    examples: [{ p50: 1, p95: 4, p99: 12.5 }],
  });

const HealthSchema = named(
  "LocationHealth",
  Type.Object({
    ...LocationSchema.properties,
    pending_runs: Type.Integer({
      description: `runs without an outcome yet, ordered by you or by your deployments; counted among the ${MOST_PENDING} runs of all owners that expire first`,
    }),
    oldest_due: nullable(Timestamp),
    spool_reports: Type.Integer({ description: "reports on the disks of its agents together" }),
    recent_calls: Type.Integer({
      description: `sample size of lateness and uncertainty: calls of all owners, in the last hour, among the newest ${MOST_RESULTS} results of all locations`,
    }),
    lateness: PercentilesSchema("milliseconds from when a call was due to its start"),
    uncertainty: PercentilesSchema(
      "milliseconds that the agent's own work may have added to a call",
    ),
  }),
);

export function locationHealthEndpoints(deps: EndpointDeps): Endpoint[] {
  const health = createLocationHealth(deps);
  return [
    defineEndpoint({
      operationId: "listLocationHealth",
      methods: ["GET"],
      path: "/agents/health/",
      tag: "Locations",
      summary:
        "List the locations with your pending runs, and the punctuality and accuracy of calls",
      description: "Measured at most every 5 seconds.",
      level: "VIEWER",
      query: LIST_PAGING,
      answer: listOf(HealthSchema),
      async handle(request) {
        const { meta, results } = await pageOfLocations(deps, request);
        const loadOf = await health();
        return {
          meta,
          results: results.map((location) =>
            toHealth(location, loadOf(location.id, request.principal)),
          ),
        };
      },
    }),
  ];
}

const toHealth = (
  location: ReturnType<typeof toLocation>,
  { oldest_due, calls, ...load }: Load,
) => ({
  ...location,
  ...load,
  oldest_due: oldest_due === null ? null : formatInstant(oldest_due),
  spool_reports: location.agents.reduce((sum, { spool_reports }) => sum + spool_reports, 0),
  recent_calls: calls,
});
