// Calls ranked by their scores of the latest closed periods.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Principal } from "../model/access.ts";
import { bandOf } from "../model/insight-explanation.ts";
import { insightId } from "../model/insight.ts";
import type { InsightKind, InsightSummary } from "../model/insight.ts";
import { formatInstant } from "../model/instant.ts";
import { periodStart } from "../model/periods.ts";
import type { Store } from "../store/store.ts";
import { measuresOf } from "./insight-answers.ts";

export interface RankQuery {
  readonly kind: InsightKind;
  /** How many closed periods. */
  readonly periods: number;
  /** Also what others share with the organization. */
  readonly withShared: boolean;
  readonly worstFirst: boolean;
}

type PeriodReport = Omit<InsightSummary, "rank">;

/** A call with its reports, the oldest first. */
interface Ranked {
  readonly name: string;
  readonly url: string;
  readonly reports: readonly PeriodReport[];
  readonly last: PeriodReport;
}

export async function rankCalls(store: Store, reader: Principal, query: RankQuery) {
  const starts = closedStarts(query, await store.now());
  const sides = query.withShared && reader.org !== null ? BOTH : OWN;
  const reports: PeriodReport[] = [];
  for (const start of starts) {
    for (const of of sides)
      reports.push(...(await store.insights.listPeriod(reader, query.kind, start, of)));
    // On SQLite, each period is a piece of work on the main thread.
    await nextTurn();
  }
  const byCall = Map.groupBy(reports, ({ call_id }) => call_id);
  const calls = await store.insights.callNames([...byCall.keys()]);
  const ranked = calls.map(({ id, name, url }): Ranked => {
    const own = byCall.get(id) as [PeriodReport, ...PeriodReport[]];
    return { name, url, reports: own, last: own.at(-1) ?? own[0] };
  });
  return {
    meta: {
      start: formatInstant(starts[0] as number).slice(0, "yyyy-mm-dd".length),
      period: query.kind === "WEEK" ? "weekly" : "monthly",
    },
    results: inOrder(ranked, query.worstFirst).map(toEntry),
  };
}

const OWN = ["own"] as const;
const BOTH = ["own", "shared"] as const;

/** The oldest first. The current period is not closed. */
function closedStarts({ kind, periods }: RankQuery, now: number): number[] {
  const starts = [periodStart(kind, now)];
  while (starts.length <= periods) starts.unshift(periodStart(kind, (starts[0] as number) - 1));
  return starts.slice(0, -1);
}

/** Calls without a score come last either way; equal scores by name, then by id. */
function inOrder(calls: readonly Ranked[], worstFirst: boolean): Ranked[] {
  const sign = worstFirst ? -1 : 1;
  return calls.toSorted(
    (a, b) =>
      Number(isUnscored(a)) - Number(isUnscored(b)) ||
      sign * (b.last.score - a.last.score) ||
      byText(a.name, b.name) ||
      byText(a.last.call_id, b.last.call_id),
  );
}

const isUnscored = ({ last }: Ranked): boolean => bandOf(last) === null;

function byText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

const toEntry = ({ name, url, reports, last }: Ranked) => ({
  id: last.call_id,
  insights_id: insightId(last),
  api_name: name,
  api_url: url,
  url,
  ...measuresOf(last),
  results: reports.map(({ start, score }) => [formatInstant(start), score] as const),
  filenames: reports.map(insightId),
  most_recent: formatInstant(last.start),
});
