// Measures the contents of the streams, for metrics.
import { jetstreamManager } from "@nats-io/jetstream";
import type { JetStreamManager } from "@nats-io/jetstream";
import type { BusBacklog } from "../bus.ts";
import type { NatsLink } from "./connection.ts";
import { isConsumerMissing } from "./errors.ts";
import { REPORT_STREAM, TICK_STREAM, locationOfSubject } from "./topology.ts";

const STREAMS = [
  ["ticks", TICK_STREAM],
  ["results", REPORT_STREAM],
] as const;
const REQUEST_TIMEOUT_MS = 2000;

/** Counts all messages in the streams: acknowledged ones leave them. `now`: `Bus.backlog`. */
export async function readBacklog(link: NatsLink, now: number): Promise<BusBacklog[]> {
  const options = { timeout: REQUEST_TIMEOUT_MS, checkAPI: false };
  const manager = await jetstreamManager(link.connection, options);
  return Promise.all(STREAMS.map(([stream, name]) => backlogOf(manager, stream, name, now)));
}

async function backlogOf(
  manager: JetStreamManager,
  stream: BusBacklog["stream"],
  name: string,
  now: number,
): Promise<BusBacklog> {
  const { state, config } = await manager.streams.info(name, { subjects_filter: ">" });
  const at = [];
  // One after another: there may be many, and there is no hurry.
  for (const [subject, messages] of Object.entries(state.subjects ?? {})) {
    const location_id = locationOfSubject(subject);
    const given = stream === "ticks" ? await lastGiven(manager, name, location_id) : 0;
    const stored = await storedAt(manager, name, { next_by_subj: subject, seq: given + 1 });
    const oldestAgeMs = stored === undefined ? 0 : Math.max(0, now - stored);
    at.push({ location_id, messages, oldestAgeMs });
  }
  const { bytes } = state;
  return { stream, at, bytes, ...(config.max_bytes > 0 && { maxBytes: config.max_bytes }) };
}

/** Returns the sequence number of the last message given to the location's agents; 0 if none. */
async function lastGiven(
  manager: JetStreamManager,
  stream: string,
  location: string,
): Promise<number> {
  try {
    const { delivered } = await manager.consumers.info(stream, location);
    return delivered.stream_seq;
  } catch (cause) {
    if (isConsumerMissing(cause)) return 0;
    throw cause;
  }
}

/** Epoch milliseconds by the server's clock; undefined if there is no such message. */
async function storedAt(
  manager: JetStreamManager,
  stream: string,
  query: { readonly next_by_subj: string; readonly seq: number },
): Promise<number | undefined> {
  return (await manager.streams.getMessage(stream, query))?.time.getTime();
}
