// The last 24 hours of a call, and whether its slowest phase has changed in the weeks before.
import { DAY_MS, HOUR_MS } from "../../../../src/model/periods.ts";
import { MINUTE_MS } from "../../../../src/model/slots.ts";
import { now, useNow } from "../../now.ts";
import { findChange, onsetOf, slowestPhase } from "./answer.ts";
import type { Change, PhaseAverages, Slowest } from "./answer.ts";
import { countsOf } from "./day-counts.ts";
import { statsPath, useStats } from "./reads.ts";
import type { StatEntry } from "./sample.ts";
import type { View } from "./view.ts";

export const DAYS_BEFORE = 57;

export const averagesOf = (stats: readonly StatEntry[] = []): PhaseAverages[] =>
  stats.flatMap(({ time, count, avg_latency, adv_stat }) =>
    adv_stat
      ? [{ time: Date.parse(time), count, latency: avg_latency, phases: adv_stat.phases }]
      : [],
  );

/** What the last 24 hours are compared with: calls that passed, if any did in these hours. */
interface History {
  readonly type: View["type"];
  /** The newest first. */
  readonly days: ReturnType<typeof useStats>;
}

/**
 * `end` is the end of the current hour, so it stays the same until then. It moves on without
 * results, too: nothing else would render what is shown of the last 24 hours.
 */
export function useRecent(id: string) {
  useNow(MINUTE_MS);
  const end = (Math.floor(now() / HOUR_MS) + 1) * HOUR_MS;
  const since = new Date(end - DAY_MS).toISOString();
  const query = { kind: "HOUR", time: since, limit: 24 };
  const hours = useStats(id, statsPath(id, "since", query), "day");
  const missed = useStats(id, statsPath(id, "since", { ...query, type: "MISSED" }), "day");
  const passed = useStats(id, statsPath(id, "since", { ...query, type: "COMPLETE" }), "day");
  const isRead = hours.data && !missed.isPending && !passed.isPending;
  const day = isRead && countsOf(hours.data.stats, missed.data?.stats ?? []);
  const lastDays = { kind: "DAY", limit: DAYS_BEFORE };
  const days = useStats(id, statsPath(id, "before", lastDays), "before");
  const passedDays = useStats(
    id,
    statsPath(id, "before", { ...lastDays, type: "COMPLETE" }),
    "before",
  );
  // Statistics do not say how many calls reached a phase. Those that passed did: weighted by all of
  // its calls, an hour would count the others for phases that they never reached.
  const ofPassed = averagesOf(passed.data?.stats);
  const anyPassed = ofPassed.length > 0;
  const slowest = slowestPhase(anyPassed ? ofPassed : averagesOf(hours.data?.stats), anyPassed);
  const history: History = anyPassed
    ? { type: "COMPLETE", days: passedDays }
    : { type: "ALL", days };
  const change = useChange(id, slowest, history);
  return { end, hours, day, days, slowest, history, change };
}

/** Returns the start of the first hour with statistics, or of the day if older; epoch ms. */
export function firstOf({ hours, days }: Pick<ReturnType<typeof useRecent>, "hours" | "days">) {
  const [hour, day] = [hours.data?.stats[0], days.data?.stats.at(-1)];
  if (!hour || !day) return undefined;
  const [firstHour, firstDay] = [Date.parse(hour.time), Date.parse(day.time)];
  return firstHour < firstDay + DAY_MS ? firstHour : firstDay;
}

/** Finds a change; if there is one, reads the hours around it to find when it began. */
function useChange(
  id: string,
  slowest: Slowest | undefined,
  { type, days }: History,
): Change | undefined {
  const averages = averagesOf(days.data?.stats).toReversed();
  const change = slowest && findChange(averages, slowest.phase);
  const from = new Date((change?.since ?? 0) - DAY_MS).toISOString();
  const around = useStats(
    id,
    statsPath(id, "since", { kind: "HOUR", time: from, limit: 48, type }),
    "around",
    change !== undefined,
  );
  if (!change || !around.data) return change;
  return { ...change, since: onsetOf(change, averagesOf(around.data.stats)) };
}
