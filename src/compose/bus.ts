// Connects the bus that the configuration names: NATS, or the one inside the process.
import type { Bus } from "../bus/bus.ts";
import { createInProcessBus } from "../bus/in-process.ts";
import { createNatsBus } from "../bus/nats/nats-bus.ts";
import type { Config } from "../config/config.ts";
import { systemClock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import { Counter } from "../runtime/metrics.ts";
import type { Registry } from "../runtime/metrics.ts";

export async function openConfiguredBus(
  config: Config,
  log: Logger,
  registry: Registry,
  name: string,
): Promise<Bus> {
  const dropped = new Counter({
    name: "sonde_bus_dropped_messages_total",
    help: "Messages that could not be decoded, or that nobody took in time.",
    labelNames: ["kind"],
    registers: [registry],
  });
  const options = {
    clock: systemClock,
    log,
    onDropped: (kind: string) => dropped.inc({ kind }),
  };
  if (!config.natsUrls) return createInProcessBus(options);
  const { natsUrls: servers, natsCredentials: credentials } = config;
  return createNatsBus({
    ...options,
    servers,
    name,
    ...(credentials && { credentials }),
  });
}
