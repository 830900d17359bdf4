// What a process of the hub measures of the whole system.
import { expect, it } from "vitest";
import { createFleet } from "../../src/fleet/fleet.ts";
import { createFleetMetrics } from "../../src/fleet/metrics.ts";
import { createRegistry } from "../../src/runtime/metrics.ts";
import { aRunReport, connectTo, quiet } from "../bus/buses.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { createShiftedClock } from "../support/shifted-clock.ts";
import { createTestDatabase } from "../support/stores.ts";
import { until } from "../support/until.ts";

const HOUR_MS = 3_600_000;

it("the age of a message in NATS is right although this machine's clock is an hour ahead", async () => {
  await using server = await startNatsServer();
  await using bus = await connectTo(server.url);
  await using database = await createTestDatabase("sqlite");
  const store = await database.open();
  await bus.publishReports([aRunReport("paris")]);
  const metrics = createFleetMetrics(createRegistry({ version: "1.2.3" }));
  const clock = createShiftedClock(Date.now() + HOUR_MS);
  const options = { store, bus, clock, log: quiet, metrics, countsDeployments: false };
  const fleet = createFleet(options);
  await fleet.start();
  try {
    const results = () => metrics.backlog.get()?.find(({ stream }) => stream === "results");
    await until(() => expect(results()).toBeDefined());
    expect(results()?.at).toMatchObject([{ location_id: "paris", messages: 1 }]);
    expect(results()?.at[0]?.oldestAgeMs).toBeLessThan(HOUR_MS / 2);
  } finally {
    await fleet.stop();
  }
});
