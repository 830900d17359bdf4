// Locations and their agents.
import { AGENT_STATES, describeAgent, isOnline } from "../../model/agent.ts";
import type { ListedAgent } from "../../model/agent.ts";
import { EXAMPLE, LocationRef, Timestamp, mark, nullable } from "../../model/fields.ts";
import { formatInstant } from "../../model/instant.ts";
import { Type } from "../../model/type.ts";
import type { StoredLocation } from "../../store/records.ts";
import { defineEndpoint, named } from "../endpoint.ts";
import type { Endpoint, EndpointDeps } from "../endpoint.ts";
import { listOf, listPage } from "../http/paging.ts";
import type { ListRequest } from "../http/paging.ts";
import { LIST_PAGING } from "../http/parameters.ts";

const tag = "Locations";

/** The fields of an agent in both lists. */
const AGENT_FIELDS = {
  state: Type.Enum(AGENT_STATES, {
    description: [
      "ONLINE: accepts runs",
      "STALE: it has missed one or two heartbeats, which come every 10 seconds",
      "OFFLINE: it has missed three, or has stopped",
      "DRAINING: finishes its runs and accepts no more, because it is stopping or an operator ordered it",
      "INCOMPATIBLE: accepts no runs, because its version is too old for the hub",
    ].join("; "),
  }),
  version: Type.String({ examples: ["0.1.0"] }),
  last_seen: Timestamp,
  in_flight: Type.Integer({ description: "runs in progress" }),
  held: Type.Integer({ description: "runs that it has received but not started" }),
  capacity: nullable(
    Type.Integer({
      description: "maximum calls at a time; a workflow makes none during its delays",
    }),
  ),
  spool_reports: Type.Integer({
    description: "reports on its disk that the bus has not accepted",
  }),
  spool_bytes: Type.Integer({ description: "size of these reports" }),
  clock_offset_ms: nullable(
    Type.Number({ description: "how far the hub's time is ahead of its clock" }),
  ),
  drain_ordered: Type.Boolean({ description: "whether an operator has ordered it to drain" }),
};

const AgentSchema = named(
  "Agent",
  Type.Object({
    agent_id: Type.String({ examples: ["agent-5f0c6b1e9a7d4382"] }),
    location_id: LocationRef,
    online: Type.Boolean({ description: "any state but OFFLINE" }),
    ...AGENT_FIELDS,
  }),
);

export const LocationSchema = named(
  "Location",
  Type.Object({
    id: LocationRef,
    location_id: mark(LocationRef, { description: "same as id" }),
    label: Type.String({ examples: ["The office"] }),
    region: Type.String({ examples: ["Europe"] }),
    created: Timestamp,
    agents: Type.Array(AgentSchema),
  }),
);

const RegionSchema = Type.Object({
  id: Type.String({ examples: ["Europe"] }),
  name: Type.String({ examples: ["Europe"] }),
  locations: Type.Array(LocationRef),
});

const ListedAgentSchema = Type.Object({
  id: mark(LocationRef, { description: "the agent's location" }),
  meta: Type.Object({
    id: mark(AgentSchema.properties.agent_id, { description: "the agent's own id" }),
    name: Type.String({ description: "label of its location", examples: ["The office"] }),
    remote_addr: Type.String({
      description: 'the public address that it calls from; "" if it is not known',
      examples: ["198.51.100.7"],
    }),
    created: mark(Timestamp, { description: "first seen" }),
    last_update: mark(Timestamp, { description: "last seen" }),
  }),
  ...AGENT_FIELDS,
});

const InfoSchema = named(
  "LocationInfo",
  Type.Object({
    regions: Type.Array(RegionSchema, {
      description:
        "the regions that locations name, and `all`, with every location, the default one first",
    }),
    locations: Type.Record(Type.String(), Type.String(), {
      description: 'labels by location id, and by "" that of the default location',
      examples: [{ [EXAMPLE.location]: "The office", "": "The office" }],
    }),
    agent_list: Type.Array(ListedAgentSchema),
    postman_locations: Type.Array(Type.String(), { description: "always empty", maxItems: 0 }),
    meta: Type.Object({}),
  }),
);

export const locationEndpoints = ({ store, cursors }: EndpointDeps): Endpoint[] => [
  defineEndpoint({
    operationId: "listLocations",
    methods: ["GET"],
    path: "/agents/",
    tag,
    summary: "List the locations, the default one first, with their agents",
    level: "VIEWER",
    query: LIST_PAGING,
    answer: listOf(LocationSchema),
    handle: (request) => pageOfLocations({ store, cursors }, request),
  }),
  defineEndpoint({
    operationId: "getLocationInfo",
    methods: ["GET"],
    path: "/agents/info",
    tag,
    summary: "The locations by region, and the agents",
    level: "VIEWER",
    answer: InfoSchema,
    async handle() {
      const now = await store.now();
      const locations = await store.locations.list();
      const agents = await store.agents.list();
      return toInfo(locations, agents, now);
    },
  }),
];

/** Resolves to a page of either list of locations. */
export async function pageOfLocations(
  { store, cursors }: Pick<EndpointDeps, "store" | "cursors">,
  request: ListRequest,
) {
  const now = await store.now();
  const agents = await store.agents.list();
  return listPage(cursors, request, async ({ after, limit }) => {
    // A removed location keeps its place: a cursor may name it.
    const all = await store.locations.listAll();
    const start = all.findIndex(({ id }) => id === after) + 1;
    const open = all.slice(start).filter(({ removed }) => removed === null);
    return open.slice(0, limit).map((location) => toLocation(location, agents, now));
  });
}

const toInfo = (
  locations: readonly StoredLocation[],
  agents: readonly ListedAgent[],
  now: number,
) => {
  const labels = locations.map(({ id, label }) => [id, label] as const);
  return {
    regions: regionsOf(locations),
    locations: Object.fromEntries([
      ...labels,
      ...labels.slice(0, 1).map(([, label]) => ["", label]),
    ]),
    agent_list: agents.map((agent) => toListed(agent, new Map(labels), now)),
    postman_locations: [],
    meta: {},
  };
};

const ALL = "all";

function regionsOf(locations: readonly StoredLocation[]) {
  const named = locations.filter(({ region }) => region !== "" && region !== ALL);
  const idsOf = (some: readonly StoredLocation[]) => some.map(({ id }) => id);
  return [
    ...[...Map.groupBy(named, ({ region }) => region)].map(([region, some]) => ({
      id: region,
      name: region,
      locations: idsOf(some),
    })),
    { id: ALL, name: "All locations", locations: idsOf(locations) },
  ];
}

const toListed = (agent: ListedAgent, labels: ReadonlyMap<string, string>, now: number) => {
  const last_seen = formatInstant(agent.last_seen);
  return {
    id: agent.location_id,
    meta: {
      id: agent.agent_id,
      name: labels.get(agent.location_id) ?? agent.location_id,
      remote_addr: agent.remote_addr,
      created: formatInstant(agent.created),
      last_update: last_seen,
    },
    ...describeAgent(agent, now),
  };
};

export const toLocation = (
  { id, label, region, created }: StoredLocation,
  agents: readonly ListedAgent[],
  now: number,
) => ({
  id,
  location_id: id,
  label,
  region,
  created: formatInstant(created),
  agents: agents
    .filter(({ location_id }) => location_id === id)
    .map((agent) => toAgent(agent, now)),
});

const toAgent = (agent: ListedAgent, now: number) => ({
  agent_id: agent.agent_id,
  location_id: agent.location_id,
  online: isOnline(agent, now),
  ...describeAgent(agent, now),
});
