// What a process of the hub measures of the whole system.
import { expect, it } from "vitest";
import { createFleet } from "../../src/fleet/fleet.ts";
import { createFleetMetrics } from "../../src/fleet/metrics.ts";
import { createRegistry } from "../../src/runtime/metrics.ts";
import { ADAPTERS, aRunReport, newLocation, quiet } from "../bus/buses.ts";
import { createShiftedClock } from "../support/shifted-clock.ts";
import { createTestDatabase, storeKinds } from "../support/stores.ts";
import { until } from "../support/until.ts";

const HOUR_MS = 3_600_000;

const pairs = storeKinds.flatMap((kind) => ADAPTERS.map((bus) => ({ kind, bus, on: bus.name })));

it.each(pairs)("an age on $on and $kind is right although the clock is not", async (each) => {
  await using database = await createTestDatabase(each.kind);
  await using fixture = await each.bus.start();
  const bus = await fixture.join();
  const store = await database.open();
  const location = newLocation();
  await bus.publishReports([aRunReport(location)]);
  const metrics = createFleetMetrics(createRegistry({ version: "1.2.3" }));
  const clock = createShiftedClock(Date.now() + HOUR_MS);
  const options = { store, bus, clock, log: quiet, metrics, countsDeployments: false };
  const fleet = createFleet(options);
  await fleet.start();
  try {
    const results = () => metrics.backlog.get()?.find(({ stream }) => stream === "results");
    await until(() => expect(results()).toBeDefined());
    const waiting = results()?.at.find(({ location_id }) => location_id === location);
    expect(waiting?.messages).toBe(1);
    expect(waiting?.oldestAgeMs).toBeLessThan(HOUR_MS / 2);
  } finally {
    await fleet.stop();
  }
});
