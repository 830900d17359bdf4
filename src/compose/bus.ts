// The configured bus: NATS, or the one in this process.
import type { Bus } from "../bus/bus.ts";
import { createInProcessBus } from "../bus/in-process.ts";
import type { Config } from "../config/config.ts";
import { systemClock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import { Counter } from "../runtime/metrics.ts";
import type { Registry } from "../runtime/metrics.ts";

export type BusConfig = Pick<Config, "natsUrls" | "natsCredentials" | "natsNkey">;

export async function openConfiguredBus(
  config: BusConfig,
  log: Logger,
  registry: Registry,
  name: string,
): Promise<Bus> {
  const dropped = new Counter({
    name: "sonde_bus_dropped_messages_total",
    help: "Messages dropped because they could not be decoded or were not consumed in time.",
    labelNames: ["kind"],
    registers: [registry],
  });
  const options = {
    clock: systemClock,
    log,
    onDropped: (kind: string) => dropped.inc({ kind }),
  };
  if (!config.natsUrls) return createInProcessBus(options);
  const { createNatsBus } = await import("../bus/nats/nats-bus.ts");
  const { natsUrls: servers, natsCredentials: credentials, natsNkey: nkey } = config;
  return createNatsBus({
    ...options,
    servers,
    name,
    ...(credentials && { credentials }),
    ...(nkey && { nkey }),
  });
}
