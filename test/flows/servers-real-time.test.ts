// One process per role, on PostgreSQL and NATS, in real time: from deployment to statistic.
import { expect, inject, it, vi } from "vitest";
import { nextTrigger } from "../../src/model/slots.ts";
import { httpClient } from "../support/client.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { createDatabase } from "../support/postgres.ts";
import { startSonde } from "../support/process.ts";
import type { LogLine } from "../support/process.ts";
import { startTarget } from "../support/target-server.ts";

const KEY = "0123456789abcdefghijABCDEFGHIJ01";
const ROLES = ["api", "scheduler", "agent", "aggregator"];

it(
  "one process per role runs a new deployment within the next minute, and all stop cleanly",
  { timeout: 120_000 },
  async () => {
    await using target = await startTarget();
    await using nats = await startNatsServer();
    const env = {
      SONDE_DATABASE_URL: await createDatabase(inject("postgresUrl")),
      SONDE_NATS_URL: nats.url,
      SONDE_BOOTSTRAP_KEY: KEY,
      SONDE_MASTER_KEY: "5a".repeat(32),
      SONDE_EGRESS_ALLOW: target.authority,
    };
    await using stack = new AsyncDisposableStack();
    // All start at once on an empty database, so every process tries to create the schema.
    const processes = ROLES.map((role) =>
      stack.use(startSonde(["serve", "--roles", role], { env })),
    );
    await Promise.all(processes.map((each) => each.ready()));
    const client = httpClient((await processes[0]?.api()) ?? "", KEY);

    const call = await client.createCall(`${target.url}/watched`);
    const deployment = await client.send<{ meta: { created: string } }>(
      "GET",
      `/deployments/${await client.deploy(call)}/`,
    );
    const [result] = await vi.waitFor(
      async () => {
        const results = await client.results(call);
        expect(results.map(({ meta }) => meta.result)).toEqual(["COMPLETE"]);
        return results;
      },
      { timeout: 90_000, interval: 250 },
    );
    const trigger = nextTrigger(1, Date.parse(deployment.meta.created));
    expect(Date.parse(result?.meta.trigger_time ?? "")).toBe(trigger);
    expect(Date.parse(result?.meta.start_time ?? "") - trigger).toBeGreaterThanOrEqual(0);
    expect(await client.stat(call, `kind=HOUR&time=${result?.meta.start_time}`)).toMatchObject({
      count: 1,
    });
    expect(target.requests.map(({ url }) => url)).toEqual(["/watched"]);

    expect(await Promise.all(processes.map((each) => each.stop()))).toEqual(
      ROLES.map(() => ({ code: 0, signal: null })),
    );
    for (const each of processes) {
      expect(each.stderr()).toBe("");
      expect(each.log().filter(isFault)).toEqual([]);
    }
  },
);

/** What processes say of a server that stalls, before they try again. */
const STALLED = ["timeout", "heartbeats missed"];

const isFault = ({ level, err }: LogLine): boolean =>
  level !== "info" &&
  !(level === "warn" && STALLED.includes((err as Error | undefined)?.message ?? ""));
