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

export interface RankQuery {
  readonly kind: InsightKind;
  /** The number of closed periods. */
  readonly periods: number;
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

interface PeriodScore {
  readonly start: number;
  readonly score: number;
  /** The report's number. */
  readonly number: number;
}

export async function rankCalls(store: Store, reader: Principal, query: RankQuery) {
  const starts = closedStarts(query, await store.now());
  const ranked = await readRanked(
    store,
    query.kind,
    await readScores(store, reader, query, starts),
  );
  const textsOf = createTexts(query.kind);
  return {
    meta: {
      start: formatInstant(starts[0] as number).slice(0, "yyyy-mm-dd".length),
      period: query.kind === "WEEK" ? "weekly" : "monthly",
    },
    results: inOrder(ranked, query.worstFirst).map((call) => toEntry(call, textsOf)),
  };
}

/** Reads the scores by call. On SQLite, a statement blocks the main thread: yields in between. */
async function readScores(
  store: Store,
  reader: Principal,
  { kind, withShared }: RankQuery,
  starts: readonly number[],
): Promise<ReadonlyMap<number, PeriodScore[]>> {
  const sides = withShared && reader.org !== null ? BOTH : OWN;
  const scores = new Map<number, PeriodScore[]>();
  for (const start of starts)
    for (const of of sides) {
      const found = await store.insights.periodScores(reader, kind, start, of);
      for (const { call, score, number } of found) {
        const ofCall = scores.get(call);
        if (ofCall) ofCall.push({ start, score, number });
        else scores.set(call, [{ start, score, number }]);
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
  return before && last && periodStart(kind, last.start - 1) === before.start
    ? before.number
    : undefined;
}

/** Returns the starts of the periods, oldest first. The current period is not closed. */
function closedStarts({ kind, periods }: RankQuery, now: number): number[] {
  const starts = [periodStart(kind, now)];
  while (starts.length <= periods) starts.unshift(periodStart(kind, (starts[0] as number) - 1));
  return starts.slice(0, -1);
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

interface Texts {
  readonly time: string;
  readonly id: (call_id: string) => string;
}

/** Formats each of the few periods once. */
function createTexts(kind: InsightKind): (start: number) => Texts {
  const made = new Map<number, Texts>();
  return (start) => {
    const known = made.get(start);
    if (known) return known;
    const suffix = insightId({ call_id: "", kind, start });
    const texts = { time: formatInstant(start), id: (call_id: string) => call_id + suffix };
    made.set(start, texts);
    return texts;
  };
}

const toEntry = ({ last, scores, meanBefore }: Ranked, textsOf: (start: number) => Texts) => ({
  id: last.call_id,
  insights_id: textsOf(last.start).id(last.call_id),
  api_name: last.name,
  api_url: last.url,
  url: last.url,
  ...measuresOf(last),
  mean_test_length_before: meanBefore,
  band: bandOf(last),
  results: scores.map(({ start, score }) => [textsOf(start).time, score] as const),
  filenames: scores.map(({ start }) => textsOf(start).id(last.call_id)),
  most_recent: textsOf(last.start).time,
});
