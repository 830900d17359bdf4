// The scores of the latest periods as small bars, with the numbers for screen readers.
import type { InsightKind } from "../../../../src/model/insight.ts";
import { bandOf, FEWEST_CALLS, HIGHEST_SCORE } from "../../../../src/model/score.ts";
import { HISTORY } from "../../insights.ts";
import type { RankedCall } from "../../insights.ts";
import { toneOfBand } from "../../parts/band.tsx";
import { shortNameOfPeriod, startsUntil } from "../../periods.ts";

const [WIDTH, HEIGHT, STEP] = [9, 28, 12];

interface ScoreTrendProps {
  readonly kind: InsightKind;
  /** The start of the last period, in epoch milliseconds. */
  readonly latest: number;
  readonly call: Pick<RankedCall, "results">;
}

export function ScoreTrend({ kind, latest, call: { results } }: ScoreTrendProps) {
  const scores = new Map(results.map(([start, score]) => [Date.parse(start), score]));
  const bars = startsUntil(kind, latest, HISTORY).map((start) => ({
    name: shortNameOfPeriod(kind, start),
    score: scores.get(start),
  }));
  const said = bars.map(({ name, score }) => `${name}: ${saidOf(score)}`);
  return (
    <svg
      class="score-trend"
      role="img"
      aria-label={said.join(", ")}
      viewBox={`0 0 ${STEP * bars.length} ${HEIGHT}`}
      width={STEP * bars.length}
      height={HEIGHT}
    >
      {bars.map(({ score }, at) => (
        <Bar key={at} at={at} score={score} />
      ))}
      <title>{said.join("\n")}</title>
    </svg>
  );
}

/** The ranking has a score of 0 also for a period with too few calls. */
const saidOf = (score: number | undefined): string =>
  score === 0 ? "0 or no score" : String(score ?? "none");

function Bar({ at, score }: { readonly at: number; readonly score: number | undefined }) {
  const tone = score ? toneOfBand(bandOf({ score, made: FEWEST_CALLS })) : "none";
  const height = Math.max(1, ((score ?? 0) / HIGHEST_SCORE) * HEIGHT);
  return (
    <rect class={tone} x={at * STEP} y={HEIGHT - height} width={WIDTH} height={height} rx="1.5" />
  );
}
