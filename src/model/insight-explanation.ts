// Explains a report's score: the cost of each part, and a sentence about it.
import type { Insight, InsightKind } from "./insight.ts";
import { categoryOf } from "./result.ts";
import { FEWEST_CALLS, HIGHEST_SCORE } from "./score.ts";
import type { ScoreParts } from "./score.ts";

/** A part of a score. In their order, each takes its share of what the ones before it left. */
type Part = Exclude<keyof ScoreParts, "variation">;

export interface PartExplanation {
  /** What the part cost; the three add up to 999 less the score. Null if there is no score. */
  readonly points: number | null;
  readonly sentence: string;
}

export type Explanation = Readonly<Record<Part, PartExplanation>>;

export type Explained = Pick<
  Insight,
  "kind" | "made" | "passed" | "outliers" | "score" | "details"
>;

/** `before` is the report of the period before. */
export function explain(report: Explained, before: Explained | undefined): Explanation {
  const points = pointsOf(report);
  const part = (name: Part, says: Says): PartExplanation => {
    const now = report.made === 0 ? NONE_MADE : says.now + says.detail;
    const then = before ? `; ${WORDS[report.kind]}, ${says.before(before)}` : "";
    const cost = points?.[name] ?? null;
    return { points: cost, sentence: `${TITLES[name]}${costs(cost)}: ${now}${then}.` };
  };
  return {
    availability: part("availability", aboutAvailability(report)),
    outliers: part("outliers", unlessNone(report, aboutOutliers(report))),
    consistency: part("consistency", unlessNone(report, aboutConsistency(report))),
  };
}

const TITLES: Readonly<Record<Part, string>> = {
  availability: "Availability",
  outliers: "Outliers",
  consistency: "Consistency",
};

/** Only calls that passed have outliers and a usual time. */
const unlessNone = ({ passed }: Explained, says: Says): Says => ({
  ...says,
  ...(passed === 0 && { now: NONE_PASSED, detail: "" }),
  before: (then) => (then.passed === 0 ? NONE_PASSED : says.before(then)),
});

const NONE_PASSED = "no call passed";

const WORDS: Readonly<Record<InsightKind, string>> = {
  WEEK: "the week before",
  MONTH: "the month before",
};

/** Rounded so that they add up. */
function pointsOf({ made, score, details }: Explained): Readonly<Record<Part, number>> | null {
  if (made < FEWEST_CALLS) return null;
  const { availability, outliers } = details.parts;
  const afterOne = Math.round(HIGHEST_SCORE * availability);
  const afterTwo = Math.round(HIGHEST_SCORE * availability * outliers);
  return {
    availability: HIGHEST_SCORE - afterOne,
    outliers: afterOne - afterTwo,
    consistency: afterTwo - score,
  };
}

function costs(points: number | null): string {
  if (points === null) return ` (no score with fewer than ${FEWEST_CALLS} calls)`;
  return ` cost ${points === 0 ? "no" : points} ${points === 1 ? "point" : "points"}`;
}

interface Says {
  readonly now: string;
  /** Appended to `now`; "" if there is none. */
  readonly detail: string;
  /** About the period before; follows a comma. */
  readonly before: (report: Explained) => string;
}

function aboutAvailability(report: Explained): Says {
  const { made } = report;
  const failed = failedOf(report);
  const calls = `${number(made)} ${made === 1 ? "call" : "calls"}`;
  return {
    now: failed === 0 ? `${allOf(made)} passed` : `${number(failed)} of ${calls} failed`,
    detail: mostly(report, failed),
    before: (then) => {
      if (then.made === 0) return NONE_MADE;
      const of = then.made === made ? "" : ` of ${number(then.made)}`;
      return `${amount(failedOf(then))}${of} failed`;
    },
  };
}

const failedOf = ({ made, passed }: Explained): number => made - passed;

const allOf = (made: number): string =>
  made === 1 ? "the only call" : `all ${number(made)} calls`;

/** Names the most frequent failure. */
function mostly({ details }: Explained, failed: number): string {
  const [first] = details.failures.filter(({ result }) => categoryOf(result) !== null);
  if (failed === 0 || !first) return "";
  if (first.count < failed) return `, ${number(first.count)} of them ${first.result}`;
  return failed === 1 ? `, ${first.result}` : `, all of them ${first.result}`;
}

function aboutOutliers({ outliers, passed, details }: Explained): Says {
  const [slowest] = details.outliers;
  const calls = passed === 1 ? "1 call" : `${number(passed)} calls`;
  return {
    now: `${amount(outliers)} of ${calls} that passed took unusually long`,
    detail: slowest ? `, ${outliers === 1 ? "" : "up to "}${duration(slowest.latency)}` : "",
    before: (then) => `${amount(then.outliers)} did`,
  };
}

const aboutConsistency = (report: Explained): Says => ({
  now: `usual times varied by ${variationOf(report)} % of their mean`,
  detail: "",
  before: (then) => `by ${variationOf(then)} %`,
});

const NONE_MADE = "no call was made";

/** A percentage with two significant digits. */
const variationOf = ({ details }: Explained): string =>
  number(Number((100 * details.parts.variation).toPrecision(2)));

const amount = (count: number): string => (count === 0 ? "none" : number(count));

/** Formats milliseconds; from one second on, in seconds with three digits or more. */
const duration = (ms: number): string =>
  ms < 1000 ? `${number(ms)} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;

const number = (value: number): string => NUMBERS.format(value);

const NUMBERS = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 15 });
