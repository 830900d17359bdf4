// Traces the runs that this process orders and records, if a collector is configured.
import type { Bus } from "../bus/bus.ts";
import { isHub } from "../config/config.ts";
import type { Config } from "../config/config.ts";
import { systemClock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Registry } from "../runtime/metrics.ts";
import { VERSION } from "../version.ts";

export interface TracingParts {
  readonly log: Logger;
  readonly registry: Registry;
  /** The name of this process. */
  readonly name: string;
}

export interface TracedBus {
  readonly bus: Bus;
  /** Sends the last spans. */
  close(): Promise<void>;
}

/**
 * Returns the bus unchanged unless tracing is on; only then is OpenTelemetry loaded. A process that
 * is only an agent traces nothing: its runs' spans follow from its reports.
 */
export async function traceConfiguredBus(
  config: Config,
  bus: Bus,
  { log, registry, name }: TracingParts,
): Promise<TracedBus> {
  const { otlpUrl, otlpHeaders = {}, otlpSample, roles } = config;
  if (otlpUrl === undefined || !isHub(config)) return { bus, close: async () => undefined };
  const [{ createTracing }, { traceBus }] = await Promise.all([
    import("../runtime/tracing.ts"),
    import("../tracing/traced-bus.ts"),
  ]);
  const tracing = createTracing({
    url: otlpUrl,
    headers: otlpHeaders,
    resource: {
      "service.name": "sonde",
      "service.version": VERSION,
      "service.instance.id": name,
      "sonde.roles": roles.join(","),
    },
    log,
    registry,
  });
  return {
    bus: traceBus(bus, { tracing, clock: systemClock, share: otlpSample }),
    close: () => tracing.close(),
  };
}
