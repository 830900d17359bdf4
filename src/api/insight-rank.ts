// Ranks calls by their latest scores in the last closed periods.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Principal } from "../model/access.ts";
import { chunksOf } from "../model/chunks.ts";
import { insightId } from "../model/insight.ts";
import type { InsightKind } from "../model/insight.ts";
import { formatInstant } from "../model/instant.ts";
import { periodStart } from "../model/periods.ts";
import { bandOf } from "../model/score.ts";
import type { Store } from "../store/store.ts";
import { measuresOf } from "./insight-answers.ts";

/** The number of closed periods. */
export const RANKED_PERIODS = 8;

export interface RankQuery {
  readonly kind: InsightKind;
  /** Also calls that others share with the organization. */
  readonly withShared: boolean;
  readonly worstFirst: boolean;
}

/** A call's latest report, with its scores in all the periods, oldest first. */
interface Ranked {
  readonly last: Awaited<ReturnType<Store["insights"]["ofNumbers"]>>[number];
  readonly scores: readonly PeriodScore[];
  /** Mean of the period before, in milliseconds; null if it has no report, or no call passed. */
  readonly meanBefore: number | null;
}

interface Period {
  readonly start: number;
  /** Its start, as answers show it. */
  readonly time: string;
  /** What follows the call's id in the id of a report. */
  readonly suffix: string;
}

interface PeriodScore {
  readonly period: Period;
  readonly score: number;
  /** The report's number. */
  readonly number: number;
}

export async function rankCalls(store: Store, reader: Principal, query: RankQuery) {
  const { kind, worstFirst } = query;
  const periods = closedPeriods(kind, await store.now());
  const ranked = await readRanked(store, kind, await readScores(store, reader, query, periods));
  return {
    meta: {
      start: periods[0]?.time.slice(0, "yyyy-mm-dd".length),
      period: kind === "WEEK" ? "weekly" : "monthly",
    },
    results: inOrder(ranked, worstFirst).map(toEntry),
  };
}

/** Reads the scores by call. On SQLite, a statement blocks the main thread: yields in between. */
async function readScores(
  store: Store,
  reader: Principal,
  { kind, withShared }: RankQuery,
  periods: readonly Period[],
): Promise<ReadonlyMap<number, PeriodScore[]>> {
  const sides = withShared && reader.org !== null ? BOTH : OWN;
  const scores = new Map<number, PeriodScore[]>();
  for (const period of periods)
    for (const of of sides) {
      const found = await store.insights.periodScores(reader, kind, period.start, of);
      for (const { call, score, number } of found) {
        const ofCall = scores.get(call);
        if (ofCall) ofCall.push({ period, score, number });
        else scores.set(call, [{ period, score, number }]);
      }
      await nextTurn();
    }
  return scores;
}

const OWN = ["own"] as const;
const BOTH = ["own", "shared"] as const;

const READ_AT_ONCE = 500;

async function readRanked(
  store: Store,
  kind: InsightKind,
  byCall: ReadonlyMap<number, PeriodScore[]>,
): Promise<Ranked[]> {
  const byNumber = new Map([...byCall.values()].map((scores) => [scores.at(-1)?.number, scores]));
  const numbers = [...byNumber.keys()].filter((number) => number !== undefined);
  const ranked: Ranked[] = [];
  for (const some of chunksOf(numbers, READ_AT_ONCE)) {
    const found = await store.insights.ofNumbers(some);
    const before = some.flatMap((number) => reportBefore(kind, byNumber.get(number) ?? []) ?? []);
    const earlier = await store.insights.ofNumbers(before);
    const means = new Map(
      earlier.map((report) => [report.call_id, report.passed > 0 ? report.mean_test_length : null]),
    );
    for (const last of found) {
      const scores = byNumber.get(last.number) ?? [];
      ranked.push({ last, scores, meanBefore: means.get(last.call_id) ?? null });
    }
    await nextTurn();
  }
  return ranked;
}

/** Returns the number of the report of the period right before the last. */
function reportBefore(kind: InsightKind, scores: readonly PeriodScore[]): number | undefined {
  const [before, last] = scores.slice(-2);
  return before && last && periodStart(kind, last.period.start - 1) === before.period.start
    ? before.number
    : undefined;
}

/** Returns the periods, oldest first. The current period is not closed. */
function closedPeriods(kind: InsightKind, now: number): Period[] {
  const periods: Period[] = [];
  let start = periodStart(kind, now);
  while (periods.length < RANKED_PERIODS) {
    start = periodStart(kind, start - 1);
    const suffix = insightId({ call_id: "", kind, start });
    periods.unshift({ start, time: formatInstant(start), suffix });
  }
  return periods;
}

/** Calls without a score come last either way; equal scores are sorted by name, then by id. */
function inOrder(calls: readonly Ranked[], worstFirst: boolean): Ranked[] {
  const sign = worstFirst ? -1 : 1;
  return calls.toSorted(
    (a, b) =>
      Number(isUnscored(a)) - Number(isUnscored(b)) ||
      sign * (b.last.score - a.last.score) ||
      byText(a.last.name, b.last.name) ||
      byText(a.last.call_id, b.last.call_id),
  );
}

const isUnscored = ({ last }: Ranked): boolean => bandOf(last) === null;

function byText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function toEntry({ last, scores, meanBefore }: Ranked) {
  const times = scores.map(({ period }) => period.time);
  const ids = scores.map(({ period }) => last.call_id + period.suffix);
  return {
    id: last.call_id,
    insights_id: ids.at(-1),
    api_name: last.name,
    api_url: last.url,
    url: last.url,
    ...measuresOf(last),
    mean_test_length_before: meanBefore,
    band: bandOf(last),
    results: scores.map(({ score }, n) => [times[n], score] as const),
    filenames: ids,
    most_recent: times.at(-1),
  };
}
