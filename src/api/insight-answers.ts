// Insights reports as the API shows them, as list entries and in full, with the measures that they
// share with rankings.
import { formatInstant } from "../model/instant.ts";
import { explain } from "../model/insight-explanation.ts";
import { insightId, REPORT_TYPES } from "../model/insight.ts";
import type { Insight, InsightSummary } from "../model/insight.ts";
import { periodEnd } from "../model/periods.ts";
import { bandOf, SCORE_VERSION } from "../model/score.ts";

/** The name and the domain of the report's call. */
interface Named {
  readonly name: string;
  readonly domain: string;
}

export const entryOf = (report: InsightSummary, { name, domain }: Named) => ({
  id: insightId(report),
  call_id: report.call_id,
  domain,
  name,
  start_date: formatInstant(report.start),
  end_date: formatInstant(periodEnd(report.kind, report.start)),
  report_type: REPORT_TYPES[report.kind],
  rank: report.rank,
  ...measuresOf(report),
  version: SCORE_VERSION,
});

type Measured = Omit<InsightSummary, "rank">;

export const measuresOf = (report: Measured) => ({
  made: report.made,
  score: report.score,
  pass_percent: report.pass_percent,
  outlier_percent: report.outlier_percent,
  mean_test_length: report.mean_test_length,
  sd_test_length: report.sd_test_length,
});

/** `before` is the report of the period before. */
export const reportOf = (report: Insight, before: Insight | undefined, call: Named) => ({
  ...entryOf(report, call),
  band: bandOf(report),
  parts: partsOf(report, before),
  change: before ? changeOf(report, before) : null,
  missed: report.details.missed,
  failures: report.details.failures,
  percentiles: report.details.percentiles,
  phases: report.details.phases,
  locations: report.details.locations,
  worst_hours: report.details.worst_hours.map(withTime),
  outliers: report.details.outliers.map(withTime),
});

const withTime = <T extends { readonly time: number }>(row: T) => ({
  ...row,
  time: formatInstant(row.time),
});

function partsOf(report: Insight, before: Insight | undefined) {
  const { made, passed, outliers, details } = report;
  const { parts } = details;
  const said = explain(report, before);
  return {
    availability: {
      value: parts.availability,
      ...said.availability,
      made,
      passed,
      share: shareOf(passed, made),
    },
    outliers: {
      value: parts.outliers,
      ...said.outliers,
      passed,
      outliers,
      share: shareOf(outliers, passed),
    },
    consistency: { value: parts.consistency, ...said.consistency, variation: parts.variation },
  };
}

const shareOf = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);

/** Null for a measure that is 0 in either period only because it had no such calls. */
function changeOf(report: Insight, before: Insight) {
  const both = [report, before];
  const isScored = both.every((each) => bandOf(each) !== null);
  const isMade = both.every(({ made }) => made > 0);
  const isPassed = both.every(({ passed }) => passed > 0);
  return {
    insights_id: insightId(before),
    score: isScored ? report.score - before.score : null,
    rank: isScored ? report.rank - before.rank : null,
    pass_percent: isMade ? report.pass_percent - before.pass_percent : null,
    outlier_percent: isPassed ? report.outlier_percent - before.outlier_percent : null,
    mean_test_length: isPassed ? report.mean_test_length - before.mean_test_length : null,
    sd_test_length: isPassed ? report.sd_test_length - before.sd_test_length : null,
  };
}
