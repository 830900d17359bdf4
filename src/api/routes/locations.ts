// Locations and their agents, and the location that a request means.
import { invalid } from "../../model/errors.ts";
import { EXAMPLE, LocationRef, Timestamp, mark } from "../../model/fields.ts";
import { formatInstant } from "../../model/instant.ts";
import { isOnline } from "../../model/location.ts";
import { Type } from "../../model/type.ts";
import { show } from "../../model/validate.ts";
import type { StoredAgent, StoredLocation } from "../../store/records.ts";
import type { Store } from "../../store/store.ts";
import { defineEndpoint, named } from "../http/endpoint.ts";
import type { Endpoint, EndpointDeps } from "../http/endpoint.ts";
import { listOf, listPage } from "../http/paging.ts";
import { LIST_PAGING, text } from "../http/parameters.ts";

const tag = "Locations";

const AgentSchema = named(
  "Agent",
  Type.Object({
    agent_id: Type.String({ examples: ["agent-5f0c6b1e9a7d4382"] }),
    location_id: LocationRef,
    version: Type.String({ examples: ["0.1.0"] }),
    online: Type.Boolean({ description: "seen within three heartbeats" }),
    last_seen: Timestamp,
    in_flight: Type.Integer({ description: "runs under way" }),
  }),
);

const LocationSchema = named(
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
  state: Type.Enum(["ONLINE", "OFFLINE"], { description: "ONLINE: seen within three heartbeats" }),
  version: AgentSchema.properties.version,
  last_seen: Timestamp,
  in_flight: AgentSchema.properties.in_flight,
});

const InfoSchema = Type.Object({
  regions: Type.Array(RegionSchema, {
    description: "those that locations name, and `all`, which has every location",
  }),
  locations: Type.Record(Type.String(), Type.String(), {
    description: 'labels by location id, and by "" that of the default location',
    examples: [{ [EXAMPLE.location]: "The office", "": "The office" }],
  }),
  agent_list: Type.Array(ListedAgentSchema),
  postman_locations: Type.Array(Type.String(), { description: "always empty" }),
  meta: Type.Object({}),
});

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
    async handle(request) {
      const now = await store.now();
      const agents = await store.locations.listAgents();
      return listPage(cursors, request, async ({ after, limit }) => {
        const all = await store.locations.list();
        const start = all.findIndex(({ id }) => id === after) + 1;
        return all.slice(start, start + limit).map((location) => toLocation(location, agents, now));
      });
    },
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
      const agents = await store.locations.listAgents();
      return toInfo(locations, agents, now);
    },
  }),
];

const toInfo = (
  locations: readonly StoredLocation[],
  agents: readonly StoredAgent[],
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

const toListed = (agent: StoredAgent, labels: ReadonlyMap<string, string>, now: number) => {
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
    state: isOnline(agent.last_seen, now) ? "ONLINE" : "OFFLINE",
    version: agent.version,
    last_seen,
    in_flight: agent.in_flight,
  };
};

const toLocation = (
  { id, label, region, created }: StoredLocation,
  agents: readonly StoredAgent[],
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

const toAgent = (agent: StoredAgent, now: number) => ({
  agent_id: agent.agent_id,
  location_id: agent.location_id,
  version: agent.version,
  online: isOnline(agent.last_seen, now),
  last_seen: formatInstant(agent.last_seen),
  in_flight: agent.in_flight,
});

/** All locations together, in queries and answers. */
export const ALL_LOCATIONS = "__ALL__";

export const LOCATION_FILTER = text(
  `only calls made there; absent, empty or ${ALL_LOCATIONS}: at any location`,
  EXAMPLE.location,
);

/** What the value of `LOCATION_FILTER` selects; null: all locations. Throws `invalid`. */
export async function locationToFilter(
  store: Store,
  wanted: string | undefined,
): Promise<string | null> {
  if (wanted === undefined || wanted === ALL_LOCATIONS) return null;
  const choice = await resolveLocation(store, "location_id", wanted);
  if ("fault" in choice) throw invalid(choice.fault);
  return choice.id;
}

type Choice = { readonly id: string } | { readonly fault: string };

/** The id of the location, or a fault for the caller. `""` is the default location: the oldest. */
export const resolveLocation = async (
  store: Store,
  field: string,
  wanted: string,
): Promise<Choice> => chooseLocation(await knownLocations(store), field, wanted);

/** Ids, oldest first. */
export const knownLocations = async (store: Store): Promise<string[]> =>
  (await store.locations.list()).map(({ id }) => id);

/** `resolveLocation` among `known` locations. */
export function chooseLocation(known: readonly string[], field: string, wanted: string): Choice {
  const id = wanted === "" ? known[0] : known.find((one) => one === wanted);
  if (id !== undefined) return { id };
  const allowed = known.map((one) => show(one)).join(", ");
  return { fault: `${field}: ${show(wanted)} is not one of [${allowed}]` };
}
