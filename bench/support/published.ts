// Reads what a scheduler has published to the bus.
import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { createNatsBus } from "../../src/bus/nats/nats-bus.ts";
import { TICK_STREAM } from "../../src/bus/nats/topology.ts";
import type { Bus } from "../../src/bus/bus.ts";
import { streamsOf } from "../../src/compose/bus.ts";
import { createKeyRing } from "../../src/compose/location-keys.ts";
import { loadConfig } from "../../src/config/config.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { locationKeyOf } from "../../src/runtime/derived-keys.ts";
import { sleep } from "./children.ts";
import { MASTER_KEY } from "./database.ts";
import { LOCATION } from "./deployments.ts";

const POLL_MS = 250;
/** After this long without a new message, everything is published: the beat runs every second. */
const QUIET_MS = 3000;

export const connectBus = (url: string): Promise<Bus> =>
  createNatsBus({
    servers: [url],
    name: "bench",
    clock: systemClock,
    log: createLogger("silent"),
    streams: streamsOf(loadConfig({})),
    sealerOf: createKeyRing((location) => [locationKeyOf(MASTER_KEY, location)]).sealerOf,
  });

/**
 * Resolves once no more messages arrive, with the time of the last, in milliseconds since the
 * epoch.
 */
export async function lastPublished(natsUrl: string): Promise<number> {
  const nats = await connect({ servers: natsUrl });
  const manager = await jetstreamManager(nats);
  let last = { seq: -1, seen: 0 };
  for (;;) {
    const { state } = await manager.streams.info(TICK_STREAM);
    if (state.last_seq !== last.seq) last = { seq: state.last_seq, seen: Date.now() };
    else if (state.messages > 0 && Date.now() - last.seen > QUIET_MS) {
      await nats.close();
      return Date.parse(state.last_ts);
    }
    await sleep(POLL_MS);
  }
}

/** Takes every tick of the location off the bus, and counts the distinct ones. */
export async function takeTicks(natsUrl: string): Promise<number> {
  const bus = await connectBus(natsUrl);
  const ids = new Set<string>();
  await bus.consumeTicks(LOCATION, async (ticks) => {
    for (const { result_id } of ticks) ids.add(result_id);
  });
  for (let before = -1; before < ids.size || ids.size === 0;) {
    before = ids.size;
    await sleep(1000);
  }
  await bus.close();
  return ids.size;
}
