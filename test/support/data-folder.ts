// Creates the data folder of a service that has run: weeks of results, secrets, schedules, and
// pending runs.
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import { simulationOn, weeksUpTo } from "../../src/compose/simulation.ts";
import { SCHEDULER_LEASE } from "../../src/model/slots.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { newId } from "../../src/runtime/ids.ts";
import { createSealer } from "../../src/runtime/sealer.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { fillStore } from "../../src/simulation/fill-store.ts";
import { planOf } from "../../src/simulation/plan.ts";
import { openStore } from "../../src/store/open-store.ts";
import type { Schedule } from "../../src/store/records.ts";
import type { Store } from "../../src/store/store.ts";
import { deployMany } from "./deployments.ts";
import { readLedger } from "./ledger.ts";
import { makeFolder } from "./process.ts";
import type { TestFolder } from "./process.ts";
import { aReport, aRun, aWorkflowReport, insertKey } from "./runs.ts";
import { until } from "./until.ts";

export const CALLS = 3;
const SIZE = { calls: CALLS, locations: 2, frequency: 360 };
const WEEKS = 5;
/** Results of the simulation. */
export const RESULTS = CALLS * SIZE.locations * 4 * 7 * WEEKS;
const MINUTE_MS = 60_000;
const STOPPED_MINUTES = 5;
const DEPLOYMENTS = 2;

export interface DataFolder extends TestFolder {
  readonly masterKey: string;
  /** Belongs to an owner. */
  readonly apiKey: string;
  /** Due every minute since the folder's service "stopped", which was minutes ago. */
  readonly schedules: readonly Schedule[];
  readonly stopped: number;
}

/** Creates the folder of a service that opened its last slot minutes ago. */
export async function makeDataFolder(targetUrl: string): Promise<DataFolder> {
  const folder = makeFolder();
  const key = randomBytes(32);
  mkdirSync(folder.dataDir, { recursive: true });
  writeFileSync(join(folder.dataDir, "master-key"), key.toString("base64"));
  const store = await openFolder(folder, key);
  const now = await store.now();
  await fillStore({
    ...simulationOn(createLogger("silent")),
    ...weeksUpTo(now, WEEKS),
    store,
    plan: planOf({ owner: "owner", owner_org: null, seed: 1, ...SIZE }),
    actor: "test",
    batch: 100,
    pause: 0,
  });
  const stopped = now - (now % MINUTE_MS) - STOPPED_MINUTES * MINUTE_MS;
  const schedules = await deployMany(store, targetUrl, DEPLOYMENTS, stopped + MINUTE_MS);
  const apiKey = await leaveWork(store, stopped);
  await store.close();
  // A beat has seen this one; the other was deployed after the last beat.
  using database = new DatabaseSync(join(folder.dataDir, "sonde.db"));
  database.exec(`delete from new_schedules where deployment_id = '${schedules[0]?.deployment_id}'`);
  return { ...folder, masterKey: key.toString("base64"), apiKey, schedules, stopped };
}

export const openFolder = (folder: TestFolder, key: Buffer): Promise<Store> =>
  openStore({
    location: { file: join(folder.dataDir, "sonde.db") },
    clock: systemClock,
    sealer: createSealer({ current: key }),
  });

async function leaveWork(store: Store, stopped: number): Promise<string> {
  const lease = await store.leases.acquire(SCHEDULER_LEASE, "data folder", stopped, 7000);
  if (lease) await store.leases.advance(lease, stopped);
  const { key, key_id } = await insertKey(store, stopped);
  await store.sessions.open("hash of a session", key_id, stopped);
  await store.sessions.addCode("hash of a code", key_id, stopped);
  const [done, waiting] = [aRun({ due_time: stopped }), aRun({ due_time: stopped })];
  const workflow = aRun({ target_kind: "workflow", target_id: "workflow", due_time: stopped });
  await store.pendingRuns.insert([done, waiting, workflow]);
  const call_ids = [newId(stopped), newId(stopped)];
  await store.pendingRuns.plan([
    { result_id: workflow.result_id, call_ids, expires_at: workflow.expires_at },
  ]);
  await store.pendingRuns.markPublished([waiting.result_id]);
  await store.results.record([aReport(done), aWorkflowReport({ ...workflow, call_ids })]);
  await store.transaction(async ({ answers }) => {
    await answers.claim("a request", stopped, 0);
    await answers.keep("a request", { fingerprint: "", answer: { status: 201 } });
  });
  return key;
}

/** Resolves when each slot since the service stopped has its outcome. */
export const caughtUp = (store: Store, { schedules, stopped }: DataFolder): Promise<void> =>
  until(async () => {
    const { results } = await readLedger(store, schedules);
    const due = results.map(({ meta }) => Date.parse(meta.due_time));
    const past = due.filter((time) => time < stopped + 4 * MINUTE_MS);
    expect(past).toHaveLength(DEPLOYMENTS * 3);
    expect(await store.slots.countLate()).toBe(0);
  });

/** Returns the names of commands' temporary files in the folder. */
export const partialsIn = (folder: string): string[] =>
  readdirSync(folder).filter((name) => name.includes(".partial-"));
