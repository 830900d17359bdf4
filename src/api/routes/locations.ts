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

const InfoSchema = Type.Object({
  regions: Type.Record(Type.String(), Type.Array(Type.String()), {
    description: "location ids by region",
    examples: [{ Europe: [EXAMPLE.location] }],
  }),
  locations: Type.Record(Type.String(), Type.String(), {
    description: "labels by location id",
    examples: [{ [EXAMPLE.location]: "The office" }],
  }),
  agent_list: Type.Array(AgentSchema),
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
      const byRegion = Map.groupBy(locations, ({ region }) => region);
      return {
        regions: Object.fromEntries(
          [...byRegion].map(([region, of]) => [region, of.map(({ id }) => id)]),
        ),
        locations: Object.fromEntries(locations.map(({ id, label }) => [id, label])),
        agent_list: agents.map((agent) => toAgent(agent, now)),
        meta: {},
      };
    },
  }),
];

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
