// Several processes of each hub role at once: APIs behind a balancer, and schedulers of which one
// leads.
import { describe, expect, inject, it } from "vitest";
import { httpClient, httpExchange } from "../support/client.ts";
import type { Json } from "../support/client.ts";
import { startBalancer } from "../support/balancer.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { createDatabase } from "../support/postgres.ts";
import { startSonde } from "../support/process.ts";
import type { SondeProcess } from "../support/process.ts";
import { startTarget } from "../support/target-server.ts";
import { until } from "../support/until.ts";

const KEY = "0123456789abcdefghijABCDEFGHIJ01";
const WRONG_KEY = "W".repeat(32);
const WRONG_KEYS_PER_MINUTE = 600;
const TAKEN_OVER_WITHIN_MS = 10_000;
const RESIGNED_WITHIN_MS = 5000;

/**
 * Starts the base for processes: one database, one NATS server, and a target that their agents may
 * call.
 */
async function startGround() {
  await using stack = new AsyncDisposableStack();
  const nats = stack.use(await startNatsServer());
  const target = stack.use(await startTarget());
  const env = {
    SONDE_DATABASE_URL: await createDatabase(inject("postgresUrl")),
    SONDE_NATS_URL: nats.url,
    SONDE_BOOTSTRAP_KEY: KEY,
    SONDE_MASTER_KEY: "5a".repeat(32),
    SONDE_EGRESS_ALLOW: target.authority,
  };
  const running = stack.move();
  return {
    target,
    start: (roles: string) => running.use(startSonde(["serve", "--roles", roles], { env })),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

const leads = (sonde: SondeProcess) =>
  sonde.logged(({ msg }) => msg === "scheduler lease taken").then(() => sonde);

/** Measures again, twice at most, if it took too long: a stall of any process counts, too. */
async function quickest(measure: () => Promise<number>, withinMs: number): Promise<number> {
  let least = Infinity;
  for (let tries = 0; tries < 3 && least >= withinMs; tries += 1)
    least = Math.min(least, await measure());
  return least;
}

describe.concurrent("several hubs", () => {
  it("another scheduler leads within ten seconds after the leader is killed", async () => {
    await using ground = await startGround();
    const [one, two] = [ground.start("scheduler"), ground.start("scheduler")];
    await Promise.all([one.ready(), two.ready()]);
    let leader = await Promise.race([leads(one), leads(two)]);
    let other = leader === one ? two : one;
    const succession = async (end: () => Promise<unknown>): Promise<number> => {
      const began = performance.now();
      await end();
      await leads(other);
      const took = performance.now() - began;
      [leader, other] = [other, ground.start("scheduler")];
      await other.ready();
      return took;
    };
    const takenOver = () => succession(() => leader.kill9());
    expect(await quickest(takenOver, TAKEN_OVER_WITHIN_MS)).toBeLessThan(TAKEN_OVER_WITHIN_MS);
    const resigned = () =>
      succession(async () => expect(await leader.stop()).toEqual({ code: 0, signal: null }));
    expect(await quickest(resigned, RESIGNED_WITHIN_MS)).toBeLessThan(RESIGNED_WITHIN_MS);
  });

  it("clients notice neither which API answers nor that one is killed", async () => {
    await using ground = await startGround();
    const { target } = ground;
    const apis = [ground.start("api,aggregator"), ground.start("api,aggregator")] as const;
    const agent = ground.start("agent");
    await Promise.all([...apis, agent].map((each) => each.ready()));
    const urls = await Promise.all(apis.map((each) => each.api()));
    await using balancer = await startBalancer(urls.map((url) => Number(new URL(url).port)));
    const exchange = httpExchange(balancer.url, KEY);
    const ask: typeof exchange = ({ headers, ...asked }) =>
      exchange({ ...asked, headers: { ...headers, connection: "close" } });
    const create = async (n: number, key: string) => {
      const { status, text } = await ask({
        method: "POST",
        path: "/api/2/calls/",
        headers: { "idempotency-key": key },
        body: {
          meta: { name: `call ${n}` },
          request: { method: "GET", url: `${target.url}/${n}` },
        },
      });
      expect(status, text).toBe(201);
      return (JSON.parse(text) as { readonly id: string }).id;
    };

    // Each request reaches the API that did not get the one before.
    const ids: string[] = [];
    for (let n = 0; n < 7; n += 1) {
      ids.push(await create(n, `key-${n}`));
      expect(await create(n, `key-${n}`)).toBe(ids[n]);
    }
    const listed: string[] = [];
    let cursor = "";
    do {
      const { text } = await ask({ method: "GET", path: `/api/2/calls/?limit=2&cursor=${cursor}` });
      const page = JSON.parse(text) as {
        meta: { next_cursor: string };
        results: { id: string }[];
      };
      listed.push(...page.results.map(({ id }) => id));
      cursor = page.meta.next_cursor;
    } while (cursor !== "");
    expect(listed).toEqual(ids);

    const path = `/api/2/calls/${ids[0]}/`;
    const runs: Json[] = [];
    for (let n = 0; n < 2; n += 1) {
      const { text } = await ask({
        method: "POST",
        path: `${path}run?wait=30`,
        headers: { "idempotency-key": "run" },
      });
      runs.push(JSON.parse(text) as Json);
      const results = await httpClient(urls[n] ?? "", KEY).results(ids[0] ?? "");
      expect(results.map(({ meta }) => meta.result)).toEqual(["COMPLETE"]);
    }
    expect(runs[1]).toEqual(runs[0]);
    expect(target.requests.map(({ url }) => url)).toEqual(["/0"]);

    const { headers } = await ask({ method: "GET", path });
    const change = (name: string) =>
      ask({
        method: "PUT",
        path,
        headers: { "if-match": headers.get("etag") ?? "" },
        body: { meta: { name } },
      });
    expect([(await change("once")).status, (await change("twice")).status]).toEqual([200, 412]);

    await expectLimitOfWrongKeys(balancer.url);
    expect((await ask({ method: "GET", path })).status).toBe(200);
    expect(Math.min(...balancer.taken)).toBeGreaterThan(WRONG_KEYS_PER_MINUTE);

    await apis[0].kill9();
    for (let n = 0; n < 4; n += 1) {
      expect(await create(n, `key-${n}`)).toBe(ids[n]);
      expect((await ask({ method: "GET", path })).status).toBe(200);
    }
  });
});

/** Asks until each API, which counts by itself, refuses further wrong keys. */
async function expectLimitOfWrongKeys(url: string): Promise<void> {
  const wrong = httpExchange(url, WRONG_KEY);
  const ask = () =>
    wrong({ method: "GET", path: "/api/2/calls/", headers: { connection: "close" } });
  const atATime = 40;
  // The counts start over if a minute ends meanwhile.
  await until(async () => {
    for (const { status, headers } of await Promise.all(Array.from({ length: atATime }, ask))) {
      expect(status).toBe(429);
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    }
  });
}
