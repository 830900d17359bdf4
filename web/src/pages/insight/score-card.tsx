// The score of a report, with its band, its place, and how far it moved.
import type { InsightKind } from "../../../../src/model/insight.ts";
import { FEWEST_CALLS, HIGHEST_SCORE } from "../../../../src/model/score.ts";
import type { InsightReport } from "../../insights.ts";
import { Band } from "../../parts/band.tsx";
import { Fact } from "../../parts/fact.tsx";
import { formatCount, formatPercent } from "../../number.ts";
import { wordOf } from "../../periods.ts";
import { Moved } from "./moved.tsx";

interface ScoreCardProps {
  readonly kind: InsightKind;
  readonly report: InsightReport;
}

export function ScoreCard({ kind, report }: ScoreCardProps) {
  const { band, score, rank, change, parts } = report;
  const { made } = parts.availability;
  return (
    <section class="card">
      <header>
        <h2>Score</h2>
        <Band band={band} />
      </header>
      {band ? (
        <p class="big-score">
          <strong>{score}</strong> of {HIGHEST_SCORE}
          {change?.score != null && (
            <Moved by={change.score} isBetter={change.score > 0} unit="point" period={kind} />
          )}
        </p>
      ) : (
        <p>
          {made === 0 ? "No call was" : made === 1 ? "1 call was" : `${made} calls were`} made, and
          a score needs at least {FEWEST_CALLS} in a {wordOf(kind)}: with fewer, one failure would
          decide it. A day of calls every hour is enough.
        </p>
      )}
      <dl class="facts">
        <Fact name="Rank among its owner's calls">{rank === -1 ? "–" : rank}</Fact>
        <Fact name="Calls made">{formatCount(made)}</Fact>
        <Fact name="Passed">{formatPercent(made === 0 ? null : report.pass_percent)}</Fact>
        <Fact name="Outliers">
          {formatPercent(parts.availability.passed === 0 ? null : report.outlier_percent)}
        </Fact>
        <Fact name="Missed (not counted)">{formatCount(report.missed)}</Fact>
      </dl>
    </section>
  );
}
