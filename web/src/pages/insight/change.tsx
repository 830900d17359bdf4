// The measures of a report beside those of the previous period.
import type { InsightKind } from "../../../../src/model/insight.ts";
import type { InsightReport } from "../../insights.ts";
import { formatMs, formatPercent } from "../../parts/number.ts";
import { wordOf } from "../../periods.ts";

interface Measure {
  readonly name: string;
  readonly now: number;
  /** Null if either period has no score, or no such calls. */
  readonly by: number | null;
  readonly show: (value: number) => string;
  /** Formats a change, if its unit differs. */
  readonly showChange?: (value: number) => string;
  /** Which way is better; undefined: neither. */
  readonly better?: "more" | "less";
}

const percentagePoints = (value: number): string => `${value.toFixed(2)} percentage points`;
const whole = (value: number): string => String(Math.round(value));

const measuresOf = (report: InsightReport, change: NonNullable<InsightReport["change"]>) =>
  [
    { name: "Score", now: report.score, by: change.score, show: whole, better: "more" },
    { name: "Place", now: report.rank, by: change.rank, show: whole, better: "less" },
    {
      name: "Calls that passed",
      now: report.pass_percent,
      by: change.pass_percent,
      show: formatPercent,
      showChange: percentagePoints,
      better: "more",
    },
    {
      name: "Outliers",
      now: report.outlier_percent,
      by: change.outlier_percent,
      show: formatPercent,
      showChange: percentagePoints,
      better: "less",
    },
    {
      name: "Average time",
      now: report.mean_test_length,
      by: change.mean_test_length,
      show: formatMs,
    },
    {
      name: "Standard deviation of all times",
      now: report.sd_test_length,
      by: change.sd_test_length,
      show: formatMs,
    },
  ] satisfies Measure[];

interface ChangeProps {
  readonly kind: InsightKind;
  readonly report: InsightReport;
}

export function Change({ kind, report }: ChangeProps) {
  const { change } = report;
  const period = wordOf(kind);
  return (
    <section class="card">
      <header>
        <h2>What changed since the {period} before</h2>
        {change && <a href={`insights/${change.insights_id}`}>Report of the {period} before</a>}
      </header>
      {change ? (
        <div class="scroll-x" role="region" aria-label="What moved" tabIndex={0}>
          <table class="blocks">
            <thead>
              <tr>
                <th scope="col">Measure</th>
                <th scope="col" class="number">
                  The {period} before
                </th>
                <th scope="col" class="number">
                  This {period}
                </th>
                <th scope="col" class="number">
                  Change
                </th>
              </tr>
            </thead>
            <tbody>
              {measuresOf(report, change).map((measure) => (
                <Row key={measure.name} measure={measure} />
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <p class="muted">The {period} before has no report: the call did not run in it.</p>
      )}
    </section>
  );
}

function Row({ measure }: { readonly measure: Measure }) {
  const { name, now, by, show, showChange = show, better } = measure;
  const isMore = (by ?? 0) > 0;
  const shown = by === null ? "–" : showChange(Math.abs(by));
  const moved = by !== null && shown !== showChange(0);
  const tone = moved && better ? (isMore === (better === "more") ? "better" : "worse") : "";
  return (
    <tr>
      <th scope="row" class="whole">
        {name}
      </th>
      <td class="number" data-label="Before">
        {by === null ? "–" : show(now - by)}
      </td>
      <td class="number" data-label="Now">
        {by === null && now <= 0 ? "–" : show(now)}
      </td>
      <td class={`number moved whole ${tone}`}>
        {moved ? `${isMore ? "+" : "−"}${shown}` : by === null ? "–" : "the same"}
        {tone && ` ${tone}`}
      </td>
    </tr>
  );
}
