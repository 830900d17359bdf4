// Stores many deployments in a store shared by processes, and checks their outcomes.
import { randomBytes } from "node:crypto";
import { expect, vi } from "vitest";
import { SCHEDULER_LEASE, slotOf } from "../../src/model/slots.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createSealer } from "../../src/runtime/sealer.ts";
import { openStore } from "../../src/store/open-store.ts";
import type { StoreOptions } from "../../src/store/open-store.ts";
import type { Schedule } from "../../src/store/records.ts";
import type { Store } from "../../src/store/store.ts";
import { expectOneRowForEachSlot, expectStatisticsOfRows, readLedger } from "./ledger.ts";
import type { Ledger } from "./ledger.ts";
import { aCall, aSchedule, insertKey } from "./runs.ts";

/**
 * Stores calls with one-minute schedules, spread over the minute, by default active from its start.
 */
export async function deployMany(
  store: Store,
  targetUrl: string,
  count: number,
  since?: number,
): Promise<Schedule[]> {
  const now = await store.now();
  const active_from = since ?? slotOf(now);
  await insertKey(store, now);
  const schedules = Array.from({ length: count }, (_, n) =>
    aSchedule({
      deployment_id: `deployment-${n}`,
      target_id: `call-${n}`,
      run_delay: Math.floor((60 * n) / count),
      active_from,
    }),
  );
  for (const schedule of schedules) {
    await store.documents.insert(
      aCall({
        id: schedule.target_id,
        url: `${targetUrl}/${schedule.target_id}`,
      }),
    );
    await store.schedules.set(schedule);
  }
  return schedules;
}

/** Stores a call that runs `count` times a minute at a location. */
export async function deployOften(
  store: Store,
  { id, url, location = "local", count }: OftenDeployed,
): Promise<void> {
  const active_from = slotOf(await store.now());
  await store.documents.insert(aCall({ id, url }));
  for (let n = 0; n < count; n += 1)
    await store.schedules.set(
      aSchedule({
        deployment_id: `deployment-${id}-${n}`,
        target_id: id,
        location_id: location,
        run_delay: Math.floor((60 * n) / count),
        active_from,
      }),
    );
}

export interface OftenDeployed {
  readonly id: string;
  readonly url: string;
  /** Default `local`. */
  readonly location?: string;
  readonly count: number;
}

/** Resolves when every run due before `due` has an outcome; rejects after `withinMs`. */
export const outcomesOf = (
  store: Store,
  schedules: readonly Schedule[],
  due: number,
  withinMs = 25_000,
): Promise<void> =>
  vi.waitFor(
    async () => {
      const { pending } = await readLedger(store, schedules);
      const open = pending.filter(({ due_time }) => due_time < due);
      expect(open.map((run) => `${run.deployment_id} ${run.due_time}`)).toEqual([]);
    },
    { timeout: withinMs, interval: 200 },
  );

/** Expects a correct ledger, and returns it. */
export async function expectLedger(store: Store, schedules: readonly Schedule[]): Promise<Ledger> {
  const lease = await store.leases.acquire(SCHEDULER_LEASE, "test", await store.now(), 1000);
  const ledger = await readLedger(store, schedules);
  expectOneRowForEachSlot(ledger, schedules, lease?.cursor ?? 0);
  await expectStatisticsOfRows(store, ledger);
  return ledger;
}

export async function openDisposable(
  location: StoreOptions["location"],
): Promise<Store & AsyncDisposable> {
  const store = await openStore({
    location,
    clock: systemClock,
    sealer: createSealer({ current: randomBytes(32) }),
    usesSecrets: false,
  });
  return { ...store, [Symbol.asyncDispose]: () => store.close() };
}
