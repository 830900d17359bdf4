import { expect, it } from "vitest";
import {
  OLDEST_PROTOCOL,
  PROTOCOL,
  agentStateOf,
  refusalOf,
  takesTicks,
} from "../../src/model/agent.ts";
import type { AgentCondition, AgentState } from "../../src/model/agent.ts";
import { aHeartbeat } from "../bus/buses.ts";

const NOW = 1_000_000;

it.each<[AgentCondition, number, AgentState]>([
  ["online", 0, "ONLINE"],
  ["online", 15, "ONLINE"],
  ["online", 15.001, "STALE"],
  ["online", 30, "STALE"],
  ["online", 30.001, "OFFLINE"],
  ["draining", 30, "DRAINING"],
  ["draining", 31, "OFFLINE"],
  ["incompatible", 30, "INCOMPATIBLE"],
  ["incompatible", 31, "OFFLINE"],
  ["stopped", 0, "OFFLINE"],
])("an agent that was %s %d seconds ago is %s", (condition, seconds, state) => {
  const last_seen = NOW - 1000 * seconds;
  expect(agentStateOf({ condition, condition_since: 0, last_seen }, NOW)).toBe(state);
});

it.each<[AgentCondition, since: number, seen: number, takes: boolean]>([
  ["online", -50, -30, true],
  ["online", -50, -31, false],
  ["draining", -10, 0, false],
  ["draining", 10, 20, true],
  ["incompatible", -10, 0, false],
  ["stopped", 10, 10, true],
  ["stopped", -1, -1, false],
])(
  "an agent, %s since second %d, seen at %d, takes ticks at 0: %j",
  (condition, since, seen, takes) => {
    const agent = {
      condition,
      condition_since: NOW + 1000 * since,
      last_seen: NOW + 1000 * seen,
    };
    expect(takesTicks(agent, NOW)).toBe(takes);
  },
);

it("an agent of this version works with its hub", () => {
  expect(PROTOCOL).toBeGreaterThanOrEqual(OLDEST_PROTOCOL);
});

it.each<[protocol: object, string | undefined]>([
  [
    {},
    "the agent's version 1.0.0 is too old for the hub's, 2.0.0: update the agent to 2.0.0 " +
      "(it speaks protocol 1, the hub accepts 2 and later)",
  ],
  [{ protocol: 2 }, undefined],
  [{ protocol: 3 }, undefined],
])("the refusal of a heartbeat with %j is: %s", (protocol, refusal) => {
  const hub = { version: "2.0.0", oldestProtocol: 2 };
  expect(refusalOf({ ...aHeartbeat("here"), ...protocol }, hub)).toBe(refusal);
});
