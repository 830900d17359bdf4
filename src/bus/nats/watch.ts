// Watches the connection to NATS in the background: how fast the server answers and, for the hub,
// whether it still has JetStream.
import { jetstreamManager } from "@nats-io/jetstream";
import type { Clock } from "../../runtime/clock.ts";
import { MEASURE_EVERY_MS, createReading } from "../../runtime/reading.ts";
import type { BusConnection } from "../bus.ts";
import type { NatsLink } from "./connection.ts";
import { isForbidden, isNotEnabled, textOf } from "./errors.ts";

const REQUEST_TIMEOUT_MS = 2000;

/** An agent may not ask for JetStream; its consumer knows. */
export function watchConnection(link: NatsLink, clock: Clock, isHub: boolean) {
  const roundTrip = createReading<number>(clock);
  let [missing, refusals]: [string | undefined, number] = [undefined, 0];
  const fault = (): string | undefined => link.fault() ?? missing;
  const measure = async (): Promise<void> => {
    if (link.fault() !== undefined) return;
    roundTrip.set(await link.connection.rtt());
    const refusal = isHub ? await refusalOfJetStream(link) : undefined;
    refusals = refusal === undefined ? 0 : refusals + 1;
    // A cluster that chooses a leader answers no request for some seconds.
    missing =
      isNotEnabled(refusal) || refusals > 1
        ? `JetStream stores no message (${textOf(refusal)})`
        : undefined;
  };
  const look = (): void => void measure().catch(() => undefined); // the link says what is wrong
  look();
  link.onReconnect(look);
  const timer = setInterval(look, MEASURE_EVERY_MS);
  return {
    /** Undefined while the server stores messages, otherwise what is wrong. */
    fault,
    read: (): BusConnection => ({
      isUp: fault() === undefined,
      reconnects: link.reconnects(),
      roundTripMs: roundTrip.get(),
    }),
    close: () => clearInterval(timer),
  };
}

/** nats-server turns JetStream off when its disk fails; a cluster may have no quorum. */
export async function refusalOfJetStream({ connection }: NatsLink): Promise<unknown> {
  const options = { timeout: REQUEST_TIMEOUT_MS, checkAPI: false };
  const manager = await jetstreamManager(connection, options);
  try {
    await manager.getAccountInfo();
  } catch (cause) {
    if (!isForbidden(cause)) return cause;
  }
  return undefined;
}
