// The metrics of the whole system, as known to a process of the hub. A metric has no sample if its
// last reading of the database or the bus is more than a minute old.
import { AGENT_STATES, agentStateOf } from "../model/agent.ts";
import type { ListedAgent } from "../model/agent.ts";
import type { BacklogAt, BusBacklog } from "../bus/bus.ts";
import { systemClock } from "../runtime/clock.ts";
import type { Sample } from "../runtime/exposition.ts";
import { registerReading, registerSampled } from "../runtime/metrics.ts";
import type { Registry } from "../runtime/metrics.ts";
import { createReading } from "../runtime/reading.ts";
import type { PendingAt } from "../store/records.ts";

export type FleetMetrics = ReturnType<typeof createFleetMetrics>;

/** What the database held at `now`, by its clock. */
export interface Ledger {
  readonly now: number;
  readonly locations: readonly string[];
  readonly agents: readonly ListedAgent[];
  readonly pending: readonly PendingAt[];
  readonly insightsOverdueSince: number | undefined;
}

export function createFleetMetrics(registry: Registry) {
  const readings = {
    ledger: createReading<Ledger>(systemClock),
    /** Number of deployments, by location. */
    deployments: createReading<ReadonlyMap<string, number>>(systemClock),
    /** Epoch milliseconds; null: no token expires unrenewed. */
    tokenExpiry: createReading<number | null>(systemClock),
    backlog: createReading<readonly BusBacklog[]>(systemClock),
  };
  registerLedger(registry, readings.ledger.get);
  registerBacklog(registry, readings.backlog.get, () => readings.ledger.get()?.locations ?? []);
  registerSampled({
    name: "sonde_deployments",
    help: "Scheduled deployments, by location.",
    registers: [registry],
    samples: () => {
      const deployments = readings.deployments.get();
      const locations = readings.ledger.get()?.locations ?? [];
      if (!deployments) return [];
      return [...new Set([...locations, ...deployments.keys()])].map((location) => ({
        labels: { location },
        value: deployments.get(location) ?? 0,
      }));
    },
  });
  return readings;
}

function registerLedger(registry: Registry, read: () => Ledger | undefined): void {
  const registers = [registry];
  const byLocation = (
    name: string,
    help: string,
    samplesOf: (location: string, ledger: Ledger) => Sample[],
  ): void =>
    registerSampled({
      name,
      help,
      registers,
      samples: () => {
        const ledger = read();
        return ledger ? locationsOf(ledger).flatMap((each) => samplesOf(each, ledger)) : [];
      },
    });
  byLocation(
    "sonde_pending_runs",
    "Ordered runs without an outcome, by location: at most the first 50,000 in total.",
    (location, { pending }) => [{ labels: { location }, value: at(pending, location)?.runs ?? 0 }],
  );
  byLocation(
    "sonde_oldest_pending_run_age_seconds",
    "Time since the oldest run without an outcome was due, by location; 0 if none is due.",
    (location, { pending, now }) => [
      { labels: { location }, value: secondsSince(at(pending, location)?.oldest_due, now) },
    ],
  );
  byLocation(
    "sonde_agents",
    "Agents by location and state: online, stale, offline (silent), stopped (it said so), draining or incompatible.",
    (location, { agents, now }) => {
      const there = agents.filter(({ location_id }) => location_id === location);
      const states = there.map((agent) => stateOf(agent, now));
      return STATES.map((state) => ({
        labels: { location, state },
        value: states.filter((each) => each === state).length,
      }));
    },
  );
  registerReading(
    {
      name: "sonde_aggregator_insights_overdue_seconds",
      help: "Time by which the oldest waiting insights report is overdue; 0 if none waits.",
      registers,
    },
    () => {
      const ledger = read();
      return ledger && secondsSince(ledger.insightsOverdueSince, ledger.now);
    },
  );
}

function registerBacklog(
  registry: Registry,
  read: () => readonly BusBacklog[] | undefined,
  locations: () => readonly string[],
): void {
  const byStream = (
    name: string,
    help: string,
    samplesOf: (backlog: BusBacklog) => readonly Sample[],
  ): void =>
    registerSampled({
      name,
      help,
      registers: [registry],
      samples: () => (read() ?? []).flatMap((backlog) => samplesOf(backlog)),
    });
  const byLocation = (name: string, help: string, valueOf: (at: BacklogAt) => number): void =>
    byStream(name, help, ({ stream, at: places }) => {
      const known = new Map(places.map((place) => [place.location_id, valueOf(place)]));
      return [...new Set([...locations(), ...known.keys()])].map((location) => ({
        labels: { stream, location },
        value: known.get(location) ?? 0,
      }));
    });
  const ofStream = (stream: string, value: number | undefined): Sample[] =>
    value === undefined ? [] : [{ labels: { stream }, value }];
  byLocation(
    "sonde_bus_pending_messages",
    "Unacknowledged messages of ticks and of results, by location.",
    ({ messages }) => messages,
  );
  byLocation(
    "sonde_bus_oldest_pending_message_age_seconds",
    "Age of the oldest unacknowledged message; for ticks, of the oldest that no agent has received; 0 without any.",
    ({ oldestAgeMs }) => oldestAgeMs / 1000,
  );
  byStream("sonde_bus_stream_bytes", "Size of the stream in NATS.", ({ stream, bytes }) =>
    ofStream(stream, bytes),
  );
  byStream(
    "sonde_bus_stream_max_bytes",
    "Maximum size of the stream in NATS, beyond which it refuses messages.",
    ({ stream, maxBytes }) => ofStream(stream, maxBytes),
  );
}

const STATES = [...AGENT_STATES, "STOPPED"].map((state) => state.toLowerCase());

/** An agent that was stopped is no cause for alarm; one that went silent may be. */
function stateOf(agent: ListedAgent, now: number): string {
  const state = agentStateOf(agent, now);
  return (state === "OFFLINE" && agent.condition === "stopped" ? "STOPPED" : state).toLowerCase();
}

const at = (pending: readonly PendingAt[], location: string): PendingAt | undefined =>
  pending.find(({ location_id }) => location_id === location);

const secondsSince = (since: number | undefined, now: number): number =>
  since === undefined ? 0 : Math.max(0, now - since) / 1000;

/** Includes locations that were removed, or never known, while they have agents or pending runs. */
const locationsOf = ({ locations, agents, pending }: Ledger): string[] => [
  ...new Set([...locations, ...[...agents, ...pending].map(({ location_id }) => location_id)]),
];
