// A process that takes ticks and never finishes with them: to be killed. Arguments: the URL of NATS
// and the location.
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
