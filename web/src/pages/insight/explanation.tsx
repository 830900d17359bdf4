// Explains a report's score: the cost of each part, in points, numbers and words.
import type { InsightKind } from "../../../../src/model/insight.ts";
import { HIGHEST_SCORE } from "../../../../src/model/score.ts";
import { formatShare, PART_NAMES } from "../../insights.ts";
import type { InsightReport, PartName } from "../../insights.ts";
import { formatCount } from "../../number.ts";
import { Moved } from "./moved.tsx";

interface ExplanationProps {
  readonly kind: InsightKind;
  readonly report: InsightReport;
  /** The report of the period before. */
  readonly before: InsightReport | undefined;
}

export const Explanation = ({ kind, report, before }: ExplanationProps) => (
  <section class="card">
    <h2>{report.band ? `How ${report.score} was computed` : "What was measured"}</h2>
    <p>
      A score starts at {HIGHEST_SCORE}. Three parts lower it: calls that failed, calls that passed
      but took unusually long, and usual times that vary. Speed itself does not count.
    </p>
    {report.band && <Points report={report} />}
    <ol class="score-parts">
      {PART_NAMES.map((name) => (
        <Part key={name} {...{ kind, name, report, before }} />
      ))}
    </ol>
    {report.band && <Equation report={report} />}
  </section>
);

const TITLES: Readonly<Record<PartName, string>> = {
  availability: "Availability",
  outliers: "Outliers",
  consistency: "Consistency",
};

/** All 999 points in one bar: those that are left, then what each part cost. */
function Points({ report: { score, parts } }: { readonly report: InsightReport }) {
  const shares = [
    { name: "kept", title: "Score", points: score },
    ...PART_NAMES.map((name) => ({
      name,
      title: TITLES[name],
      points: parts[name].points ?? 0,
    })),
  ].filter(({ points }) => points > 0);
  return (
    <figure class="score-points">
      <div class="bar" aria-hidden="true">
        {shares.map(({ name, points }) => (
          <span key={name} class={`part ${name}`} style={{ flexGrow: points }} />
        ))}
      </div>
      <figcaption class="row">
        {shares.map(({ name, title, points }) => (
          <span key={name} class="row">
            <span class={`score-swatch ${name}`} aria-hidden="true" />
            {title} {name === "kept" ? points : `−${points}`}
          </span>
        ))}
        <span class="muted">total {HIGHEST_SCORE}</span>
      </figcaption>
    </figure>
  );
}

interface PartProps extends ExplanationProps {
  readonly name: PartName;
}

function Part({ kind, name, report, before }: PartProps) {
  const { points, sentence } = report.parts[name];
  const then = before?.parts[name].points;
  const { is, formula } = FORMULAS[name](report);
  return (
    <li>
      <header class="row">
        <h3>
          <span class={`score-swatch ${name}`} aria-hidden="true" /> {TITLES[name]}
        </h3>
        {points !== null && <strong>{points === 0 ? 0 : `−${points}`}</strong>}
        {points != null && then != null && (
          <Moved
            by={points - then}
            isBetter={points < then}
            unit="point"
            verb="cost"
            period={kind}
          />
        )}
      </header>
      <p>{sentence}</p>
      <p class="muted">{is}</p>
      <p class="formula">{formula}</p>
    </li>
  );
}

interface Formula {
  readonly is: string;
  readonly formula: string;
}

/** The formulas of src/model/score.ts, with the numbers of a report. */
const FORMULAS: Readonly<Record<PartName, (report: InsightReport) => Formula>> = {
  availability({ parts: { availability } }) {
    const { value, passed, made, share } = availability;
    return {
      is: `p is the share of calls that passed: ${formatCount(passed)} of ${formatCount(made)}.`,
      formula: `A = p⁹ = ${formatShare(share, 6)}⁹ = ${formatShare(value)}`,
    };
  },
  outliers({ parts: { outliers } }) {
    const { value, passed, share } = outliers;
    return {
      is: `o is the share of outliers: ${formatCount(outliers.outliers)} of the ${formatCount(passed)} calls that passed. The locations below show the limits.`,
      formula: `O = (1 − o)² = (1 − ${formatShare(share, 6)})² = ${formatShare(value)}`,
    };
  },
  consistency({ parts: { consistency } }) {
    const { value, variation } = consistency;
    return {
      is: "v is the standard deviation of the usual times divided by their mean, at each location by itself: a distant location costs nothing.",
      formula: `C = 1 ÷ (1 + v² ÷ 4) = 1 ÷ (1 + ${formatShare(variation)}² ÷ 4) = ${formatShare(value)}`,
    };
  },
};

const Equation = ({ report: { score, parts } }: { readonly report: InsightReport }) => (
  <p class="formula equation">
    Score = {HIGHEST_SCORE} × A × O × C = {HIGHEST_SCORE} ×{" "}
    {PART_NAMES.map((name) => formatShare(parts[name].value)).join(" × ")} ={" "}
    <strong>{score}</strong>
    <span class="muted"> (the numbers are rounded here, the score at the end)</span>
  </p>
);
