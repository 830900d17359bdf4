// The locations: their names, and whether an agent takes their runs.
import type { AgentState } from "../../src/model/agent.ts";
import { useRef } from "preact/hooks";
import { lackOf } from "./agent-lack.ts";
import type { Lack } from "./agent-lack.ts";
import { idOfDefault, placesOf } from "./places.ts";
import type { LocationsInfo, Place } from "./places.ts";
import { useRead } from "./queries.ts";

interface AgentsInfo extends LocationsInfo {
  /** `id` is that of the agent's location. */
  readonly agent_list: readonly { readonly id: string; readonly state: AgentState }[];
}

const useInfo = (options: { readonly everyMs?: number } = {}) =>
  useRead<AgentsInfo>(["agents", "info"], "agents/info", options);

/** The interval of the agents' heartbeats. */
const EVERY_MS = 10_000;

/** Returns the locations, the default one first; empty until they are known. */
export function useLocations(): readonly Place[] {
  return useLocationsRead().places;
}

/** Returns the same, and why they are not known, even while they are read again. */
export function useLocationsRead() {
  const { data, error, refetch } = useInfo();
  const failed = useRef<Error>(null);
  failed.current = error ?? failed.current;
  return { places: data ? sortedPlaces(data) : [], error: data ? null : failed.current, refetch };
}

/** Sorted once for each answer: every row of a table asks for them. */
const sorted = new WeakMap<AgentsInfo, readonly Place[]>();

function sortedPlaces(info: AgentsInfo): readonly Place[] {
  const known = sorted.get(info);
  if (known) return known;
  const places = placesOf(info);
  sorted.set(info, places);
  return places;
}

export const nameOfLocation = (places: readonly Place[], id: string): string =>
  places.find((place) => place.id === id)?.name ?? id;

/** Returns a lookup by location id of why runs there would wait; undefined also until known. */
export function useLacks(): (id: string) => Lack | undefined {
  const { data } = useInfo({ everyMs: EVERY_MS });
  const defaultId = idOfDefault(useLocations());
  return (id) =>
    data &&
    lackOf(
      data.agent_list.filter((agent) => agent.id === (id || defaultId)).map(({ state }) => state),
    );
}
