// The measures of a report next to those of the previous period.
import type { InsightKind } from "../../../../src/model/insight.ts";
import type { InsightReport } from "../../insights.ts";
import { formatMs, formatPercent } from "../../number.ts";
import { wordOf } from "../../periods.ts";
import { ScrollRegion } from "../../parts/scroll-region.tsx";

interface Measure {
  readonly name: string;
  /** Null if the period has no score, or no such calls. */
  readonly of: (report: InsightReport) => number | null;
  /** Null if that of either period is null. */
  readonly by: number | null;
  readonly show: (value: number) => string;
  /** Formats a change, if its unit differs. `seen`: the values before and now look different. */
  readonly showChange?: (value: number, seen: boolean) => string;
  /** Which way is better; undefined: neither. */
  readonly better?: "more" | "less";
}

/** Two decimals; more for a smaller change that is seen: from 100 % to 99.99 %, for example. */
function percentagePoints(value: number, seen: boolean): string {
  const text = value.toFixed(2);
  const isLost = seen && Number(text) === 0;
  const shown = isLost ? value.toLocaleString("en", { maximumSignificantDigits: 2 }) : text;
  return `${shown} percentage points`;
}
const whole = (value: number): string => String(Math.round(value));

const ofPassed =
  (measure: "outlier_percent" | "mean_test_length" | "sd_test_length"): Measure["of"] =>
  (report) =>
    report.parts.availability.passed === 0 ? null : report[measure];

const measuresOf = (change: NonNullable<InsightReport["change"]>) =>
  [
    {
      name: "Score",
      of: ({ band, score }) => band && score,
      by: change.score,
      show: whole,
      better: "more",
    },
    {
      name: "Place",
      of: ({ band, rank }) => band && rank,
      by: change.rank,
      show: whole,
      better: "less",
    },
    {
      name: "Calls that passed",
      of: ({ parts, pass_percent }) => (parts.availability.made === 0 ? null : pass_percent),
      by: change.pass_percent,
      show: formatPercent,
      showChange: percentagePoints,
      better: "more",
    },
    {
      name: "Outliers",
      of: ofPassed("outlier_percent"),
      by: change.outlier_percent,
      show: formatPercent,
      showChange: percentagePoints,
      better: "less",
    },
    {
      name: "Average time",
      of: ofPassed("mean_test_length"),
      by: change.mean_test_length,
      show: formatMs,
    },
    {
      name: "Standard deviation of all times",
      of: ofPassed("sd_test_length"),
      by: change.sd_test_length,
      show: formatMs,
    },
  ] satisfies Measure[];

interface ChangeProps {
  readonly kind: InsightKind;
  readonly report: InsightReport;
  /** The report of the period before; undefined until it is read. */
  readonly before: InsightReport | undefined;
}

export function Change({ kind, report, before }: ChangeProps) {
  const { change } = report;
  const period = wordOf(kind);
  return (
    <section class="card">
      <header>
        <h2>What changed since the {period} before</h2>
        {change && <a href={`insights/${change.insights_id}`}>Report of the {period} before</a>}
      </header>
      {change ? (
        <ScrollRegion label="What moved">
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
              {measuresOf(change).map((measure) => (
                <Row key={measure.name} measure={measure} report={report} before={before} />
              ))}
            </tbody>
          </table>
        </ScrollRegion>
      ) : (
        <p class="muted">The {period} before has no report: the call did not run in it.</p>
      )}
    </section>
  );
}

interface RowProps extends Pick<ChangeProps, "report" | "before"> {
  readonly measure: Measure;
}

function Row({ measure, report, before }: RowProps) {
  const { name, of, by, show, showChange = show, better } = measure;
  const now = of(report);
  const then = by !== null && now !== null ? now - by : before ? of(before) : null;
  const shownOf = (value: number | null): string => (value === null ? "–" : show(value));
  const isMore = (by ?? 0) > 0;
  const seen = shownOf(then) !== shownOf(now);
  const shown = by === null ? "–" : showChange(Math.abs(by), seen);
  const moved = by !== null && Number.parseFloat(shown) !== 0;
  const tone = moved && better ? (isMore === (better === "more") ? "better" : "worse") : "";
  return (
    <tr>
      <th scope="row" class="whole">
        {name}
      </th>
      <td class="number" data-label="Before">
        {shownOf(then)}
      </td>
      <td class="number" data-label="Now">
        {shownOf(now)}
      </td>
      <td class={`number moved whole ${tone}`}>
        {moved ? `${isMore ? "+" : "−"}${shown}` : by === null ? "–" : "the same"}
        {tone && ` ${tone}`}
      </td>
    </tr>
  );
}
