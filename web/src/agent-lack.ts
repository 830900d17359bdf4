// Tells whether any agent takes a location's runs.
import type { AgentState } from "../../src/model/agent.ts";

/** Why no agent takes a location's runs. */
export type Lack = "NONE_CONNECTED" | "NONE_READY";

const TAKING: readonly AgentState[] = ["ONLINE", "STALE"];

/** Expects the states of one location's agents; returns undefined if one of them accepts runs. */
export function lackOf(states: readonly AgentState[]): Lack | undefined {
  if (states.some((state) => TAKING.includes(state))) return undefined;
  return states.every((state) => state === "OFFLINE") ? "NONE_CONNECTED" : "NONE_READY";
}

/** `place` is the name of the location. */
export const lackInWords = (lack: Lack, place: string): string =>
  lack === "NONE_CONNECTED"
    ? `No agent is connected at ${place}`
    : `The agents at ${place} accept no runs, as they are draining or too old`;
