// The metrics of this process's use of the bus.
import { Counter, registerReading, registerSampled } from "../runtime/metrics.ts";
import type { Registry } from "../runtime/metrics.ts";
import type { BusConnection } from "./bus.ts";
import { ITEM_KINDS, MESSAGE_KINDS } from "./delivery.ts";

export function createBusMetrics(registry: Registry) {
  const registers = [registry];
  const refused = new Counter({
    name: "sonde_bus_refused_messages_total",
    help: "Messages that NATS refused for lack of room; publishing is retried.",
    labelNames: ["messages"],
    registers,
  });
  for (const messages of ITEM_KINDS) refused.inc({ messages }, 0);
  const dropped = new Counter({
    name: "sonde_bus_dropped_messages_total",
    help: "Messages dropped because they could not be opened or decoded, or were not consumed in time.",
    labelNames: ["kind"],
    registers,
  });
  // Starts at 0: the first of a kind then shows as an increase.
  for (const kind of MESSAGE_KINDS) dropped.inc({ kind }, 0);
  return { refused, dropped };
}

/**
 * Registers the metrics of the connection to NATS. Agents in threads have their own connections.
 */
export function registerConnection(
  registry: Registry,
  connection: () => BusConnection | undefined,
): void {
  const registers = [registry];
  registerReading(
    {
      name: "sonde_nats_up",
      help: "1 while NATS answers on every connection of this process and, for the hub, its JetStream works.",
      aggregator: "min",
      registers,
    },
    () => connection() && Number(connection()?.isUp),
  );
  registerSampled({
    name: "sonde_nats_reconnects_total",
    help: "Connections to NATS that were lost and restored.",
    type: "counter",
    registers,
    samples: () => [{ value: connection()?.reconnects ?? 0 }],
  });
  registerReading(
    {
      name: "sonde_nats_round_trip_seconds",
      help: "The latest round trip to NATS, measured every 15 s.",
      aggregator: "max",
      registers,
    },
    () => secondsOf(connection()?.roundTripMs),
  );
}

const secondsOf = (ms: number | undefined): number | undefined =>
  ms === undefined ? undefined : ms / 1000;
