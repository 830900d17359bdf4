// Upgrades process by process from the version before the newest migration, while both versions
// serve: no due slot is lost or counted twice.
import { expect, inject, it, vi } from "vitest";
import type { Schedule } from "../../src/store/records.ts";
import { openPostgres } from "../../src/store/postgres/postgres.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { httpClient } from "../support/client.ts";
import type { Client } from "../support/client.ts";
import { expectLedger, openDisposable, outcomesOf } from "../support/deployments.ts";
import type { Ledger } from "../support/ledger.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { createDatabase } from "../support/postgres.ts";
import { checkOutPreviousVersion } from "../support/previous-version.ts";
import { runSonde, startSonde } from "../support/process.ts";
import type { SondeProcess } from "../support/process.ts";
import { dueOf, isComplete } from "../support/service.ts";
import { startTarget } from "../support/target-server.ts";

const KEY = "0123456789abcdefghijABCDEFGHIJ01";
const FIRST_DEPLOYMENTS = 30;
const CHANGE_EVERY_MS = 3000;
const STAGE_MS = 40_000;
/** Ticks are published this long before they are due. */
const AHEAD_MS = 30_000;
/** By this time, a run without a report is MISSED. */
const OUTCOMES_WITHIN_MS = 270_000;
const MINUTE_MS = 60_000;

it("upgrades process by process, with every due slot in exactly one outcome", async ({
  annotate,
}) => {
  using previous = checkOutPreviousVersion();
  await using target = await startTarget();
  await using nats = await startNatsServer();
  const url = await createDatabase(inject("postgresUrl"));
  const env = {
    SONDE_DATABASE_URL: url,
    SONDE_NATS_URL: nats.url,
    SONDE_BOOTSTRAP_KEY: KEY,
    SONDE_MASTER_KEY: "5a".repeat(32),
    SONDE_EGRESS_ALLOW: target.authority,
  };
  await using stack = new AsyncDisposableStack();
  const startAll = (main?: string) => {
    const start = (roles: string) =>
      stack.use(startSonde(["serve", "--roles", roles], { env, ...(main && { main }) }));
    return {
      api: start("api"),
      scheduler: start("scheduler"),
      aggregator: start("aggregator"),
      start,
    };
  };

  const old = startAll(previous.main);
  const oldAgent = old.start("agent");
  await allReady(old.api, old.scheduler, old.aggregator, oldAgent);
  const oldClient = httpClient(await old.api.api(), KEY);
  for (let n = 0; n < FIRST_DEPLOYMENTS; n += 1) await deployOne([oldClient], target.url, n);
  const [first = ""] = await callsOf(oldClient);
  await vi.waitFor(async () => expect(await completed(oldClient, first)).toBeGreaterThan(0), {
    timeout: 2 * MINUTE_MS,
    interval: 500,
  });

  const began = systemClock.now();
  const present = startAll();
  await allReady(present.api, present.scheduler, present.aggregator);
  const client = httpClient(await present.api.api(), KEY);
  await useFor(STAGE_MS, [oldClient, client], target.url);
  await stopCleanly(old.scheduler);
  await useFor(STAGE_MS, [oldClient, client], target.url);
  await stopCleanly(old.aggregator, old.api);
  const agent = present.start("agent");
  await agent.ready();
  await stopCleanly(oldAgent);
  const ended = systemClock.now();
  await useFor(AHEAD_MS + 2 * MINUTE_MS, [client], target.url);

  await using store = await openDisposable({ url });
  const schedules = await schedulesIn(url);
  await outcomesOf(store, schedules, systemClock.now(), OUTCOMES_WITHIN_MS);
  await stopCleanly(present.api, present.scheduler, present.aggregator, agent);
  const { results } = await expectLedger(store, schedules);
  expect(await runSonde(["stats", "rebuild"], { env })).toMatchObject({ code: 0, stdout: "" });

  const others = results.filter((each) => !isComplete(each));
  await annotate(
    `${schedules.length} deployments, ${results.length} results, ${others.length} MISSED: ${reasonsOf(others)}`,
  );
  expect(new Set(others.map(({ meta }) => meta.result))).toEqual(
    new Set(others.length > 0 ? ["MISSED"] : []),
  );
  // Versions that do not understand each other's messages make runs MISSED, but only meanwhile.
  for (const { meta } of others.filter(({ meta }) => !meta.message?.startsWith("deployed_late"))) {
    const due = Date.parse(meta.due_time);
    expect(due, `${meta.due_time}: ${meta.message}`).toBeGreaterThan(began - MINUTE_MS);
    expect(due, `${meta.due_time}: ${meta.message}`).toBeLessThan(ended + AHEAD_MS);
  }
  expect(results.some((each) => isComplete(each) && dueOf(each) > ended + AHEAD_MS)).toBe(true);
}, 900_000);

/** Lists how often each code occurs. */
const reasonsOf = (missed: Ledger["results"]): string =>
  [...Map.groupBy(missed, ({ meta }) => meta.message?.split(":")[0])]
    .map(([reason, runs]) => `${reason} ${runs.length}`)
    .join(", ");

const allReady = (...processes: readonly SondeProcess[]) =>
  Promise.all(processes.map((each) => each.ready()));

async function stopCleanly(...processes: readonly SondeProcess[]): Promise<void> {
  const ends = await Promise.all(processes.map((each) => each.stop()));
  expect(ends).toEqual(processes.map(() => ({ code: 0, signal: null })));
}

/** Creates a call and its deployment, each through the next API in turn. */
async function deployOne(clients: readonly Client[], targetUrl: string, n: number): Promise<void> {
  const nth = (at: number): Client => clients[at % clients.length] as Client;
  const call = await nth(n).createCall(`${targetUrl}/${n}`);
  await nth(n + 1).deploy(call, { run_delay: (n * 7) % 60 });
}

/** Keeps creating and reading through all of these APIs; every answer must be a success. */
async function useFor(ms: number, clients: readonly Client[], targetUrl: string): Promise<void> {
  const end = systemClock.now() + ms;
  for (let n = FIRST_DEPLOYMENTS; systemClock.now() < end; n += 1) {
    const next = systemClock.now() + CHANGE_EVERY_MS;
    await deployOne(clients, targetUrl, n);
    for (const client of clients) {
      const [call = ""] = await callsOf(client);
      await client.results(call);
      await client.stat(call, `kind=HOUR&time=${new Date(end).toISOString()}`);
      for (const path of ["/deployments/", "/agents/", "/agents/info"])
        await client.send("GET", path);
    }
    await systemClock.waitUntil(next);
  }
}

async function callsOf(client: Client): Promise<string[]> {
  const { results } = await client.send<{ results: { id: string }[] }>("GET", "/calls/");
  return results.map(({ id }) => id);
}

const completed = async (client: Client, call: string): Promise<number> =>
  (await client.results(call)).filter(({ meta }) => meta.result === "COMPLETE").length;

async function schedulesIn(url: string): Promise<Schedule[]> {
  await using kysely = openPostgres({ url }).kysely;
  return (await kysely.selectFrom("schedules").selectAll().execute()) as Schedule[];
}
