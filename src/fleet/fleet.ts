// Measures the whole system for /metrics every 15 s in the background: a scrape never waits.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Bus } from "../bus/bus.ts";
import { parseInstant } from "../model/instant.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { Logger } from "../runtime/logger.ts";
import { MEASURE_EVERY_MS } from "../runtime/reading.ts";
import { createRounds } from "../runtime/rounds.ts";
import type { Store } from "../store/store.ts";
import type { FleetMetrics } from "./metrics.ts";

export interface FleetOptions {
  readonly store: Store;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: FleetMetrics;
  /** Counting many deployments takes a while, so only some processes do. */
  readonly countsDeployments: boolean;
}

const MOST_PENDING = 50_000;
const DEPLOYMENTS_A_PAGE = 10_000;

export function createFleet(options: FleetOptions): Service {
  const { clock, log, countsDeployments } = options;
  const measuring = { ...options, time: createDatabaseTime(options) };
  const measures: Measure[] = [measureLedger, measureBacklog, readTokens];
  if (countsDeployments) measures.push(countDeployments);
  const rounds = measures.map((measure) =>
    createRounds({
      clock,
      log,
      name: measure.name,
      everyMs: MEASURE_EVERY_MS,
      work: (signal) => measure(measuring, signal),
    }),
  );
  return {
    name: "fleet metrics",
    async start() {
      await Promise.all(rounds.map((each) => each.start()));
    },
    async stop() {
      await Promise.all(rounds.map((each) => each.stop()));
    },
  };
}

/**
 * The time by the database's clock, which the hub's processes share: this machine's may be wrong.
 * Epoch milliseconds.
 */
function createDatabaseTime({ store, clock }: Pick<FleetOptions, "store" | "clock">) {
  let aheadMs: number | undefined;
  const read = async (): Promise<number> => {
    const now = await store.now();
    aheadMs = now - clock.now();
    return now;
  };
  return {
    read,
    /** By the last reading, so that it is known while the database is away. */
    now: async (): Promise<number> => (aheadMs === undefined ? read() : clock.now() + aheadMs),
  };
}

interface Measuring extends FleetOptions {
  readonly time: ReturnType<typeof createDatabaseTime>;
}

type Measure = (measuring: Measuring, signal: AbortSignal) => Promise<void>;

async function measureLedger({ store, metrics, time }: Measuring): Promise<void> {
  const now = await time.read();
  const locations = (await store.locations.list()).map(({ id }) => id);
  const agents = await store.agents.list();
  const pending = await store.fleet.pendingRuns(MOST_PENDING);
  const insightsOverdueSince = await store.fleet.insightsOverdueSince(now);
  metrics.ledger.set({ now, locations, agents, pending, insightsOverdueSince });
}

async function measureBacklog({ bus, metrics, time }: Measuring): Promise<void> {
  metrics.backlog.set(await bus.backlog(await time.now()));
}

async function countDeployments({ store, metrics }: Measuring, signal: AbortSignal): Promise<void> {
  const counts = new Map<string, number>();
  for (let after: string | undefined = ""; after !== undefined && !signal.aborted;) {
    const { at, next } = await store.fleet.countDeployments(after, DEPLOYMENTS_A_PAGE);
    for (const { location_id, deployments } of at)
      counts.set(location_id, (counts.get(location_id) ?? 0) + deployments);
    after = next;
    await nextTurn();
  }
  if (!signal.aborted) metrics.deployments.set(counts);
}

async function readTokens({ store, metrics }: Measuring): Promise<void> {
  const first = await store.fleet.firstTokenExpiry();
  metrics.tokenExpiry.set(parseInstant(first ?? "") ?? null);
}
