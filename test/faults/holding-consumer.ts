// A process that takes ticks and never acknowledges them, for tests that kill it. Arguments: the
// NATS URL, the location and the acknowledgement timeout.
import { createNatsBus } from "../../src/bus/nats/nats-bus.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createLogger } from "../../src/runtime/logger.ts";

const [url = "", locationId = "", ackWaitMs = ""] = process.argv.slice(2);
const bus = await createNatsBus({
  servers: [url],
  name: "holding-consumer",
  clock: systemClock,
  log: createLogger("silent"),
  ackWaitMs: Number(ackWaitMs),
});
await bus.consumeTicks(locationId, async () => {
  process.stdout.write("taken\n");
  await new Promise(() => undefined);
});
