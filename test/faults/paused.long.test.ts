// What happens to runs when a process is stopped (SIGSTOP) for longer than its lease, its
// transaction or its messages last, and resumes.
import { Client } from "pg";
import { expect, inject, it } from "vitest";
import { systemClock } from "../../src/runtime/clock.ts";
import { createDatabase } from "../support/postgres.ts";
import type { SondeProcess } from "../support/process.ts";
import { announcedSeed, between, randomOf } from "../support/seed.ts";
import { dueOf, isComplete, startService } from "../support/service.ts";
import { until } from "../support/until.ts";

/** Longer than a scheduler's lease and the patience of NATS, which are both 10 s. */
const PAUSE_MS = 16_000;
/** The application name of its connections. */
const OBSERVED = "observed";

it("a paused scheduler, aggregator and agent lose no run and count none twice", async (test) => {
  const random = randomOf(await announcedSeed(test));
  const databaseUrl = await createDatabase(inject("postgresUrl"));
  await using service = await startService({ databaseUrl });
  await using database = await observe(databaseUrl);
  const schedulers = [service.start("scheduler"), service.start("scheduler")];
  const aggregator = service.start("aggregator", {
    SONDE_DATABASE_URL: `${databaseUrl}?application_name=${OBSERVED}`,
  });
  service.start("aggregator");
  const agent = service.start("agent");
  service.start("agent");
  await service.completes();
  const since = systemClock.now();

  const leader = schedulers.find((each) => tookLease(each)) as SondeProcess;
  const other = schedulers.find((each) => each !== leader) as SondeProcess;
  await standStill(leader, async () => {
    await until(() => expect(tookLease(other)).toBe(true));
  });
  await until(() => expect(leader.log().map(({ msg }) => msg)).toContain("scheduler lease lost"));

  await database.stopInTransaction(aggregator);
  await standStill(aggregator);

  await systemClock.waitUntil(systemClock.now() + between(random, 0, 20_000));
  await standStill(agent);
  await service.completes(systemClock.now());

  const { results } = await service.expectLedgerHolds();
  expect(results.filter((each) => dueOf(each) > since && !isComplete(each))).toEqual([]);
});

const tookLease = (sonde: SondeProcess): boolean =>
  sonde.log().some(({ msg }) => msg === "scheduler lease taken");

async function standStill(sonde: SondeProcess, meanwhile?: () => Promise<void>): Promise<void> {
  const end = systemClock.now() + PAUSE_MS;
  sonde.signal("SIGSTOP");
  try {
    await meanwhile?.();
    await systemClock.waitUntil(end);
  } finally {
    sonde.signal("SIGCONT");
  }
}

async function observe(url: string) {
  const client = new Client(url);
  await client.connect();
  const isInTransaction = async (): Promise<boolean> => {
    const { rowCount } = await client.query(
      "select from pg_stat_activity where application_name = $1 and state like 'idle in transaction%'",
      [OBSERVED],
    );
    return rowCount !== 0;
  };
  return {
    /** Stops the process (SIGSTOP) while one of its transactions is open. */
    async stopInTransaction(sonde: SondeProcess): Promise<void> {
      await until(async () => {
        sonde.signal("SIGSTOP");
        if (await isInTransaction()) return;
        sonde.signal("SIGCONT");
        throw new Error("no transaction is open");
      });
    },
    [Symbol.asyncDispose]: () => client.end(),
  };
}
