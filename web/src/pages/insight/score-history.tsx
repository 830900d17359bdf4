// The scores of the eight periods up to a report's: bars on the bands, each a link to its report.
import type { InsightKind } from "../../../../src/model/insight.ts";
import { FAIR_FROM, GOOD_FROM, HIGHEST_SCORE } from "../../../../src/model/score.ts";
import type { List } from "../../api.ts";
import { withQuery } from "../../api.ts";
import { bandOfEntry, historyOf } from "../../insights.ts";
import type { InsightEntry, PastScore } from "../../insights.ts";
import { toneOfBand } from "../../parts/band.tsx";
import { Fault } from "../../parts/notice.tsx";
import { nameOfPeriod, shortNameOfPeriod, wordOf } from "../../periods.ts";
import { useRead } from "../../queries.ts";

/** Maximum reports of a call in one answer: nineteen years of weeks. */
const MOST = 1000;

interface ScoreHistoryProps {
  readonly kind: InsightKind;
  readonly start: number;
  readonly report: InsightEntry;
}

export function ScoreHistory({ kind, start, report }: ScoreHistoryProps) {
  const { data, error } = useRead<List<InsightEntry>>(
    ["insights", "of", report.call_id, kind],
    withQuery("insights/", { call_id: report.call_id, weekly: kind === "WEEK", limit: MOST }),
  );
  const history = historyOf(kind, start, data?.results ?? [report]);
  return (
    <section class="card">
      <header>
        <h2>Eight {wordOf(kind)}s</h2>
        <span class="muted small">
          Lines: good from {GOOD_FROM}, fair from {FAIR_FROM}
        </span>
      </header>
      <Fault error={error} />
      <ol class="score-history">
        {history.map((past) => (
          <Bar
            key={past.start}
            kind={kind}
            past={past}
            isThis={past.start === start}
            none={data ? "no report" : "not known"}
          />
        ))}
      </ol>
    </section>
  );
}

interface BarProps {
  readonly kind: InsightKind;
  readonly past: PastScore;
  readonly isThis: boolean;
  /** What a period without a report says. */
  readonly none: string;
}

function Bar({ kind, past: { start, report }, isThis, none }: BarProps) {
  const band = report && bandOfEntry(report);
  const name = shortNameOfPeriod(kind, start);
  const body = (
    <>
      <span class="visually-hidden">{nameOfPeriod(kind, start)}: </span>
      <span class="track">
        <span class="value">{band ? report?.score : "–"}</span>
        <span
          class={`bar ${toneOfBand(band)}`}
          style={{ height: `${(100 * (band ? (report?.score ?? 0) : 0)) / HIGHEST_SCORE}%` }}
        />
      </span>
      <span class="small" aria-hidden="true">
        {name}
      </span>
      <span class="visually-hidden">{band ?? (report ? "no score" : none)}</span>
    </>
  );
  return (
    <li>
      {report ? (
        <a href={`insights/${report.id}`} aria-current={isThis ? "page" : undefined}>
          {body}
        </a>
      ) : (
        <span class="none">{body}</span>
      )}
    </li>
  );
}
