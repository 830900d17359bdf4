// Whether an agent takes the runs of a location.
import type { AgentState } from "../../src/model/agent.ts";

/** Why runs there would wait. */
export type Lack = "NONE_CONNECTED" | "NONE_READY";

const TAKING: readonly AgentState[] = ["ONLINE", "STALE"];

/** Of the agents of one location; undefined: one of them takes runs. */
export function lackOf(states: readonly AgentState[]): Lack | undefined {
  if (states.some((state) => TAKING.includes(state))) return undefined;
  return states.every((state) => state === "OFFLINE") ? "NONE_CONNECTED" : "NONE_READY";
}

/** `place`: names of locations, of which each has the same lack. */
export const lackInWords = (lack: Lack, place: string): string =>
  lack === "NONE_CONNECTED"
    ? `No agent is connected at ${place}`
    : `The agents at ${place} take no runs, since they are draining or too old`;
