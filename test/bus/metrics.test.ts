import { expect, it } from "vitest";
import { createBusMetrics } from "../../src/bus/metrics.ts";
import { createRegistry } from "../../src/runtime/metrics.ts";

it("starts drop and refusal counters at zero: the first one is an increase", async () => {
  const registry = createRegistry({ version: "test" });
  createBusMetrics(registry);
  const lines = (await registry.metrics())
    .split("\n")
    .filter((line) => line.startsWith("sonde_bus_"));
  expect(lines.toSorted()).toEqual([
    'sonde_bus_dropped_messages_total{kind="credentials request"} 0',
    'sonde_bus_dropped_messages_total{kind="heartbeat"} 0',
    'sonde_bus_dropped_messages_total{kind="reports"} 0',
    'sonde_bus_dropped_messages_total{kind="ticks"} 0',
    'sonde_bus_refused_messages_total{messages="reports"} 0',
    'sonde_bus_refused_messages_total{messages="ticks"} 0',
  ]);
});
