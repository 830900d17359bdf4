// Finds what is wrong with a call now: where, since when, and how.
import type { Result } from "../../../../src/model/result.ts";
import { formatCount } from "../../number.ts";
import { listed } from "../../places.ts";

/** The part of a listed result that matters here. Times are ISO 8601. */
export type Ended = Pick<
  Result["meta"],
  "result" | "result_category" | "http_code" | "message" | "location_id" | "start_time" | "due_time"
>;

export interface Trouble {
  /** The last result at these locations. */
  readonly last: Ended;
  readonly isMissed: boolean;
  /** Where the last run did not pass. */
  readonly locations: readonly string[];
  /** Whether its runs elsewhere passed, or were missed. */
  readonly isPartial: boolean;
  /** Where runs were missed instead. */
  readonly missedAt: readonly string[];
  /** Whether each of them failed, rather than ended with a warning. */
  readonly areFailures: boolean;
  /**
   * Calls made there since the last that passed, or runs missed in a row; if `since` is null, all
   * that are known. Null: more than are known.
   */
  readonly runs: number | null;
  /** When the first of them began, in epoch milliseconds; null: before the known results. */
  readonly since: number | null;
}

/** Adds when it began, if that is before the known results. */
export const begunAt = (trouble: Trouble, since: number | null | undefined): Trouble =>
  trouble.since === null && since ? { ...trouble, since, runs: null } : trouble;

interface Streak {
  readonly location: string;
  readonly last: Ended;
  readonly areFailures: boolean;
  readonly runs: number;
  readonly since: number | null;
}

const timeOf = ({ start_time, due_time }: Ended): number => Date.parse(start_time ?? due_time);

/**
 * Expects the newest results in descending order; `isWhole`: these are all. Returns undefined if
 * the last run passed at each location. Unless `deployed` is empty, only its locations and that of
 * the last run count.
 */
export function troubleOf(
  results: readonly Ended[],
  isWhole: boolean,
  deployed: readonly string[],
): Trouble | undefined {
  const relevant = results.filter(isRelevant);
  const places = [...Map.groupBy(relevant, ({ location_id }) => location_id)].filter(
    ([location]) =>
      deployed.length === 0 || deployed.includes(location) || location === relevant[0]?.location_id,
  );
  const streaks = places.flatMap(([location, some]) => streakOf(location, some, isWhole));
  const failed = streaks.filter(({ last }) => last.result_category !== null);
  // A call that failed says more about the target than one that was not made.
  const shown = failed.length > 0 ? failed : streaks;
  const [newest] = shown.toSorted((a, b) => timeOf(b.last) - timeOf(a.last));
  if (!newest) return undefined;
  const starts = shown.map(({ since }) => since);
  return {
    last: newest.last,
    isMissed: failed.length === 0,
    locations: shown.map(({ location }) => location),
    isPartial: places.length > shown.length,
    missedAt: streaks.filter((one) => !shown.includes(one)).map(({ location }) => location),
    areFailures: shown.every(({ areFailures }) => areFailures),
    runs: shown.reduce((sum, { runs }) => sum + runs, 0),
    since: starts.includes(null) ? null : Math.min(...(starts as number[])),
  };
}

/** Other results say nothing about the target, nor about how to reach it. */
const isRelevant = ({ result, result_category }: Ended): boolean =>
  result_category !== null || result === "MISSED";

function streakOf(location: string, results: readonly Ended[], isWhole: boolean): Streak[] {
  const isMissed = results[0]?.result === "MISSED";
  // Missed runs among failed calls do not count; calls among missed runs end the streak.
  const counted = isMissed ? results : results.filter(({ result }) => result !== "MISSED");
  const end = counted.findIndex(({ result, result_category }) =>
    isMissed ? result !== "MISSED" : result_category === "PASS",
  );
  const streak = end === -1 ? counted : counted.slice(0, end);
  const [last, first] = [streak[0], streak.at(-1)];
  if (!last || !first) return [];
  const since = end === -1 && !isWhole ? null : timeOf(first);
  const areFailures = streak.every(({ result_category }) => result_category === "FAIL");
  return [{ location, last, areFailures, runs: streak.length, since }];
}

interface Words {
  readonly nameOf: (location: string) => string;
  readonly timeText: (ms: number) => string;
}

/** The counts of 24 hours. */
interface Day {
  readonly made: number;
  readonly passed: number;
}

/**
 * `All 11 calls in the last 24 hours failed since 02:41, last with HTTP_SERVER_ERROR (500).`
 * Without a status, the message says why.
 */
export function troubleText(trouble: Trouble, day: Day, { nameOf, timeText }: Words): string {
  const { last, since, runs, isMissed, isPartial } = trouble;
  const at = isPartial ? ` at ${listed(trouble.locations.map(nameOf))}` : "";
  const [from, when] =
    since === null ? ["", ""] : [` since ${timeText(since)}`, ` at ${timeText(since)}`];
  if (isMissed) {
    const why = inParentheses(last.message);
    if (runs === 1) return `The last run${at} was missed${when}${why}.`;
    return `${allOrLast(runs, "runs")}${at} were missed${from}${why}.`;
  }
  const failed = trouble.areFailures ? "failed" : "did not pass";
  const how = `with ${last.result}${inParentheses(last.http_code ?? last.message)}`;
  const isWholeDay = day.made > 0 && day.passed === 0;
  if (runs === 1 && !(isWholeDay && day.made > 1))
    return `The last call${at} ${failed}${when} ${how}.`;
  const calls = isWholeDay
    ? `All ${formatCount(day.made)} calls in the last 24 hours`
    : `${allOrLast(runs, "calls")}${at}`;
  return `${calls} ${failed}${from}, last ${how}.`;
}

const allOrLast = (count: number | null, what: string): string =>
  count === null ? `All ${what}` : `The last ${formatCount(count)} ${what}`;

const inParentheses = (detail: string | number | null): string =>
  detail === null ? "" : ` (${detail})`;

/** Says where the call fails. */
export const troubleWhere = (
  { locations, isPartial, missedAt }: Trouble,
  nameOf: (location: string) => string,
): string => {
  const names = listed(locations.map(nameOf));
  if (missedAt.length > 0) return `At ${names}; missed at ${listed(missedAt.map(nameOf))}`;
  if (isPartial) return `Only at ${names}`;
  return locations.length === 1 ? `Called from ${names} only` : `At all of ${names}`;
};
