// The configured bus: NATS, or the one in this process.
import type { Bus } from "../bus/bus.ts";
import { createInProcessBus } from "../bus/in-process.ts";
import { createBusMetrics, registerConnection } from "../bus/metrics.ts";
import type { NatsSettings } from "../bus/nats/nats-bus.ts";
import type { StreamSettings } from "../bus/nats/streams.ts";
import type { Config } from "../config/config.ts";
import { systemClock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Registry } from "../runtime/metrics.ts";

export interface BusConfig extends Pick<
  Config,
  "natsUrls" | "natsCredentials" | "natsNkey" | "natsCa" | "natsCert" | "natsKey" | "location"
> {
  /** Set for the hub, which creates the streams; unset for an agent of the location. */
  readonly streams?: StreamSettings;
}

/** Returns the settings for an agent in another thread: it gets no other secrets. */
export const agentBusConfigOf = (config: Config): BusConfig => ({
  natsUrls: config.natsUrls,
  natsCredentials: config.natsCredentials,
  natsNkey: config.natsNkey,
  natsCa: config.natsCa,
  natsCert: config.natsCert,
  natsKey: config.natsKey,
  location: config.location,
});

export const streamsOf = (config: Config): StreamSettings => ({
  ticksMiB: config.natsTicksMiB,
  resultsMiB: config.natsResultsMiB,
  replicas: config.natsReplicas,
});

/** The servers, how to connect to them, and as which side. */
export const natsSettingsOf = ({ natsCredentials, natsNkey, streams, ...config }: BusConfig) => ({
  servers: config.natsUrls ?? [],
  ...(natsCredentials && { credentials: natsCredentials }),
  ...(natsNkey && { nkey: natsNkey }),
  tls: { ca: config.natsCa, cert: config.natsCert, key: config.natsKey },
  ...(streams ? { streams } : { locationId: config.location }),
});

/** Needed only on NATS. */
export type BusUser = Pick<NatsSettings, "name" | "sealerOf">;

export async function openConfiguredBus(
  config: BusConfig,
  log: Logger,
  registry: Registry,
  user: BusUser,
): Promise<Bus> {
  const { dropped, refused } = createBusMetrics(registry);
  const options = {
    clock: systemClock,
    log,
    onDropped: (kind: string) => dropped.inc({ kind }),
  };
  if (!config.natsUrls) return createInProcessBus(options);
  const { createNatsBus } = await import("../bus/nats/nats-bus.ts");
  const bus = await createNatsBus({
    ...options,
    ...user,
    ...natsSettingsOf(config),
    onRefused: (messages) => refused.inc({ messages }),
  });
  registerConnection(registry, () => bus.connection());
  return bus;
}
