// Finds statistics that differ from their results, and repairs them. The service may keep running.
import { KEPT_KINDS, periodStart } from "../model/periods.ts";
import type { CheckedStats, Differences, StatPlace, TimeSpan } from "../model/stat-check.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Store } from "../store/store.ts";

export interface RebuildOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Only periods that lie within it are checked. */
  readonly span: TimeSpan;
  readonly callIds: readonly string[];
  readonly onRepaired: (place: StatPlace, differences: Differences) => void;
  /** Called after each day of a call. */
  readonly onDay: () => void;
}

export interface Rebuilt {
  /** Hours, days and months of calls. */
  readonly checked: number;
  readonly differed: number;
}

/** Counts the days of calls that have statistics to check, of all calls by default. */
export async function daysToCheck(store: Store, span: TimeSpan, callId?: string): Promise<number> {
  const { from } = await completeWithin(store, span);
  return store.statChecks.countDays({ ...span, from: periodStart("DAY", from) }, callId);
}

/** Starts the span where all results are still stored: earlier statistics stay as they are. */
const completeWithin = async ({ retention }: Store, { from, to }: TimeSpan): Promise<TimeSpan> => ({
  from: Math.max(from, await retention.completeSince()),
  to,
});

export async function rebuildStats(options: RebuildOptions): Promise<Rebuilt> {
  const { store, callIds } = options;
  let [checked, differed] = [0, 0];
  for (const callId of callIds) {
    const within = await completeWithin(store, options.span);
    const from = periodStart("DAY", within.from);
    const days = await store.statChecks.days(callId, { ...within, from });
    const add = async (found: CheckedStats): Promise<void> => {
      checked += found.periods;
      differed += await repair(options, found);
    };
    for (const day of days) {
      await add(await store.statChecks.check(callId, "DAY", day, within));
      options.onDay();
    }
    for (const month of new Set(days.map((day) => periodStart("MONTH", day))))
      await add(await store.statChecks.check(callId, "MONTH", month, within));
  }
  return { checked, differed };
}

/**
 * The pause after a repair, as a multiple of its duration: a repair locks all of an embedded
 * database, and the service checks less and less often whether the lock is free.
 */
const PAUSES = 3;

/** Returns how many periods differed. */
async function repair(
  { store, clock, onRepaired }: RebuildOptions,
  { differing }: CheckedStats,
): Promise<number> {
  const periods = new Set<string>();
  // Shorter periods come first, because longer ones are computed from them.
  for (const kind of KEPT_KINDS)
    for (const place of differing.filter((each) => each.kind === kind)) {
      const began = clock.monotonic();
      const differences = await store.statChecks.repair(place);
      await clock.pause(PAUSES * (clock.monotonic() - began));
      if (!differences) continue;
      periods.add(`${kind}|${place.time}`);
      onRepaired(place, differences);
    }
  return periods.size;
}
