// Response times of the API in process, on SQLite with 100,000 calls. Goal: 5 ms per operation.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApiMetrics } from "../src/api/metrics.ts";
import { createApi } from "../src/api/server.ts";
import { createInProcessBus } from "../src/bus/in-process.ts";
import { systemClock as clock } from "../src/runtime/clock.ts";
import { createLogger } from "../src/runtime/logger.ts";
import { Registry } from "../src/runtime/metrics.ts";
import { createSealer } from "../src/runtime/secrets.ts";
import { openStore } from "../src/store/open-store.ts";
import { aCall, aReport, aRun, insertKey, T0 } from "../test/support/runs.ts";
import { show, spreadOf } from "./statistics.ts";

const CALLS = 100_000;
const OWNERS = 50;
const ROUNDS = 300;

const directory = mkdtempSync(join(tmpdir(), "sonde-bench-"));
const log = createLogger("silent");
const store = await openStore({
  location: { file: join(directory, "sonde.db") },
  clock,
  sealer: createSealer({ current: randomBytes(32) }),
});
const bus = createInProcessBus({ clock, log });
const { key } = await insertKey(store, T0);
const { app } = createApi({
  store,
  dispatcher: { store, bus },
  clock,
  log,
  metrics: createApiMetrics(new Registry()),
  config: {
    host: "127.0.0.1",
    port: 0,
    tokenInQuery: true,
    cursorKey: new Uint8Array(32),
    version: "bench",
  },
});
const send = (path: string, body?: object) =>
  app.inject({
    method: body ? "POST" : "GET",
    url: `/api/2${path}`,
    headers: { authorization: `Bearer ${key}` },
    ...(body && { payload: body }),
  });

console.log(`filling the store with ${CALLS} calls of ${OWNERS} owners`);
const ids: string[] = [];
await store.transaction(async (inner) => {
  for (let n = 0; n < CALLS; n += 1) {
    const owner = n % OWNERS === 0 ? "ann" : `owner${n % OWNERS}`;
    const call = aCall({ owner, url: `https://host${n % 100}.test/path` });
    await inner.documents.insert(call);
    if (owner === "ann") ids.push(call.id);
  }
});
const runs = ids.slice(0, 100).map((target_id, n) => aRun({ target_id, due_time: T0 + n }));
await store.pendingRuns.insert(runs);
await store.results.record(runs.map((run) => aReport(run)));

const operations = {
  "list of 200 calls": () => send("/calls/?limit=200"),
  "list of 200 by domain": () => send("/calls/?limit=200&domain=host0.test"),
  "get a call": (n: number) => send(`/calls/${ids[n % ids.length]}/`),
  "create a call": (n: number) =>
    send("/calls/", {
      meta: { name: `new ${n}` },
      request: { method: "get", url: "https://new.test/" },
    }),
  "statistics of a day": (n: number) =>
    send(`/calls/${ids[n % 100]}/stats/?kind=DAY&time=2026-10-01`),
};

console.log("milliseconds: median, 99th percentile, maximum");
for (const [name, operation] of Object.entries(operations)) {
  for (let n = 0; n < 30; n += 1) await operation(n);
  const times: number[] = [];
  for (let n = 0; n < ROUNDS; n += 1) {
    const started = performance.now();
    const { statusCode } = await operation(n);
    times.push(performance.now() - started);
    if (statusCode >= 300) throw new Error(`${name} answered ${statusCode}`);
  }
  const { median, p99, max } = spreadOf(times);
  console.log(`${name.padEnd(24)} ${show(median)}  ${show(p99)}  ${show(max)}`);
}

await app.close();
await bus.close();
await store.close();
rmSync(directory, { recursive: true });
