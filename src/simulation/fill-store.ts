// Fills a store with the results of a simulation, through the ledger: each run is ordered and its
// report recorded in one transaction.
import { callResource } from "../model/call.ts";
import { chunksOf } from "../model/chunks.ts";
import { DAY_MS, periodStart } from "../model/periods.ts";
import type { RunReport } from "../model/result.ts";
import { PERCENTILES_LEASE } from "../model/retention.ts";
import { SIMULATED_TAG } from "../model/simulated.ts";
import type { Clock } from "../runtime/clock.ts";
import type { NewDocument, Recorded } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { seriesOf } from "./plan.ts";
import type { Plan, Series, SimulatedCall } from "./plan.ts";
import { simulatedRun, triggersOf } from "./simulated-run.ts";

export interface FillOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly plan: Plan;
  /** Start of the triggers (inclusive), epoch milliseconds. */
  readonly from: number;
  /** End of the triggers (exclusive), epoch milliseconds. All their runs must have ended by now. */
  readonly until: number;
  /** The actor in the audit trail for the calls that it creates. */
  readonly actor: string;
  /** Records the reports in the transaction `within`. */
  readonly record: (within: Store, reports: readonly RunReport[]) => Promise<Recorded>;
  /** Maximum results per transaction. */
  readonly batch: number;
  /**
   * The pause after a transaction, as a multiple of its duration: others can write to the same
   * file in between.
   */
  readonly pause: number;
  readonly signal?: AbortSignal;
  /** Called with the number of runs that got an outcome since the last time. */
  readonly onProgress?: (runs: number) => void;
}

const CALLS_AT_ONCE = 50;

/**
 * Resolves to the number of results that are new. Repeat it after an interruption, or at a later
 * time: each run counts once. Rejects with the signal's reason.
 */
export async function fillStore(options: FillOptions): Promise<number> {
  const { plan, from, until, onProgress } = options;
  await insertLocations(options);
  for (const calls of chunksOf(plan.calls, CALLS_AT_ONCE)) await insertCalls(options, calls);
  let recorded = 0;
  for (let day = periodStart("DAY", from); day < until; day += DAY_MS) {
    const triggers = triggersOf(plan, Math.max(day, from), Math.min(day + DAY_MS, until));
    for (const series of seriesOf(plan)) {
      recorded += await fillDay(options, series, day, triggers);
      onProgress?.(triggers.length);
    }
  }
  return recorded;
}

/** How many runs the simulation has. */
export const runsIn = ({
  plan,
  from,
  until,
}: Pick<FillOptions, "plan" | "from" | "until">): number =>
  plan.calls.length * plan.locations.length * triggersOf(plan, from, until).length;

/**
 * Dates them after every existing location: the oldest is the default one, and these have no
 * agents.
 */
async function insertLocations({ store, plan }: FillOptions): Promise<void> {
  const created = (await store.now()) + 1;
  for (const { id, label, region } of plan.locations)
    await store.locations.insert({ id, label, region, created });
}

const insertCalls = (
  { store, plan, actor }: FillOptions,
  calls: readonly SimulatedCall[],
): Promise<void> =>
  store.transaction(async (within) => {
    const time = await within.now();
    const { owner, owner_org } = plan;
    for (const call of calls) {
      const isNew = await within.documents.insert(documentOf(call, plan, time));
      if (!isNew) continue;
      await within.audit.record({
        time,
        actor,
        owner,
        org: owner_org,
        address: null,
        action: "create",
        kind: "call",
        object_id: call.id,
        fields: [],
      });
    }
  });

function documentOf(
  { id, name, url, service }: SimulatedCall,
  { owner, owner_org }: Plan,
  now: number,
): NewDocument {
  const body = {
    meta: {
      name,
      tags: [SIMULATED_TAG],
      description: "Simulated: its results are generated, and its URL is never called",
    },
    request: { method: service.method, url },
  };
  const document = callResource.create(body, { id, owner, now });
  return {
    id,
    kind: "call",
    owner,
    owner_org,
    document,
    filters: callResource.filters(document),
    ...callResource.sharing(document),
  };
}

async function fillDay(
  options: FillOptions,
  series: Series,
  day: number,
  triggers: readonly number[],
): Promise<number> {
  if (await isPruned(options.store, series, day)) return 0;
  let recorded = 0;
  for (const some of chunksOf(triggers, options.batch))
    recorded += await recordRuns(options, series, some);
  return recorded;
}

/**
 * Whether retention has removed results of the day: its statistics still count them, and would
 * count them again.
 */
async function isPruned(
  { stats }: Store,
  { call, location }: Series,
  day: number,
): Promise<boolean> {
  const query = { call_id: call.id, kind: "DAY", location_id: location.id } as const;
  const summaries = [...(await stats.period(query, day)).values()];
  const counted = summaries.reduce((sum, { count }) => sum + count, 0);
  return counted > 0 && (await stats.rawOfPeriod(query, day)).length < counted;
}

/** Resolves to the number of results that are new. */
async function recordRuns(
  { store, clock, record, pause, signal }: FillOptions,
  series: Series,
  triggers: readonly number[],
): Promise<number> {
  signal?.throwIfAborted();
  const runs = triggers.map((trigger) => simulatedRun(series, trigger));
  const started = clock.monotonic();
  const count = await store.transaction(async (within) => {
    const ordered = await within.pendingRuns.insert(runs.map(({ run }) => run));
    const open = new Set(ordered.map(({ result_id }) => result_id));
    if (open.size === 0) return 0;
    const reports = runs.flatMap(({ report }) => (open.has(report.run_id) ? [report] : []));
    const { recorded } = await record(within, reports);
    if (recorded !== open.size)
      throw new Error(
        `${open.size - recorded} of ${open.size} simulated results were not recorded`,
      );
    // Otherwise retention would skip their percentiles.
    await within.leases.moveBack(PERCENTILES_LEASE, Math.min(...triggers));
    return recorded;
  });
  if (pause > 0) await clock.pause((clock.monotonic() - started) * pause, signal);
  return count;
}
