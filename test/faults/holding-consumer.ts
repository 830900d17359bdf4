// Takes ticks and never acknowledges them, as a process for tests to kill. Arguments: the NATS URL,
// the location, its key (base64) and the acknowledgement timeout.
import { createNatsBus } from "../../src/bus/nats/nats-bus.ts";
import { streamsOf } from "../../src/compose/bus.ts";
import { createKeyRing } from "../../src/compose/location-keys.ts";
import { loadConfig } from "../../src/config/config.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createLogger } from "../../src/runtime/logger.ts";

const [url = "", locationId = "", key = "", ackWaitMs = ""] = process.argv.slice(2);
const bus = await createNatsBus({
  servers: [url],
  name: "holding-consumer",
  clock: systemClock,
  log: createLogger("silent"),
  ackWaitMs: Number(ackWaitMs),
  streams: streamsOf(loadConfig({})),
  sealerOf: createKeyRing(() => [Buffer.from(key, "base64")]).sealerOf,
});
await bus.consumeTicks(locationId, async () => {
  process.stdout.write("taken\n");
  await new Promise(() => undefined);
});
