// What the streams hold, and how far away the server is: for metrics.
import { jetstreamManager } from "@nats-io/jetstream";
import type { JetStreamManager } from "@nats-io/jetstream";
import type { Clock } from "../../runtime/clock.ts";
import { MEASURE_EVERY_MS, createReading } from "../../runtime/reading.ts";
import type { BusBacklog, BusLine } from "../bus.ts";
import type { NatsLink } from "./connection.ts";
import { REPORT_STREAM, TICK_STREAM, locationOfSubject } from "./topology.ts";

const STREAMS = [
  ["ticks", TICK_STREAM],
  ["results", REPORT_STREAM],
] as const;
const REQUEST_TIMEOUT_MS = 2000;

/** What is acknowledged leaves the stream. */
export async function readBacklog(link: NatsLink, clock: Clock): Promise<BusBacklog[]> {
  const options = { timeout: REQUEST_TIMEOUT_MS, checkAPI: false };
  const manager = await jetstreamManager(link.connection, options);
  return Promise.all(STREAMS.map(([stream, name]) => backlogOf(manager, stream, name, clock)));
}

async function backlogOf(
  manager: JetStreamManager,
  stream: BusBacklog["stream"],
  name: string,
  clock: Clock,
): Promise<BusBacklog> {
  const { state, config } = await manager.streams.info(name, { subjects_filter: ">" });
  const messages = Object.entries(state.subjects ?? {}).map(
    ([subject, count]) => [locationOfSubject(subject), count] as const,
  );
  const oldest = state.messages === 0 ? Infinity : Date.parse(state.first_ts);
  return {
    stream,
    messages,
    oldestAgeMs: Math.max(0, clock.now() - Math.min(oldest, clock.now())),
    bytes: state.bytes,
    ...(config.max_bytes > 0 && { maxBytes: config.max_bytes }),
  };
}

/** Measures the round trip in the background, until it is closed. */
export function watchLine(link: NatsLink, clock: Clock) {
  const roundTrip = createReading<number>(clock);
  const measure = async (): Promise<void> => {
    if (link.fault() === undefined) roundTrip.set(await link.connection.rtt());
  };
  const look = (): void => void measure().catch(() => undefined); // the link says what is wrong
  look();
  const timer = setInterval(look, MEASURE_EVERY_MS);
  return {
    read: (): BusLine => ({
      isUp: link.fault() === undefined,
      reconnects: link.reconnects(),
      roundTripMs: roundTrip.get(),
    }),
    close: () => clearInterval(timer),
  };
}
