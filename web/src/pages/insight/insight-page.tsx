// One report: the score of a call over a closed week or month, and its explanation.
import { periodEnd } from "../../../../src/model/periods.ts";
import { useCalls } from "../../call-names.ts";
import { callAt, neighboursOf } from "../../insights.ts";
import type { InsightReport } from "../../insights.ts";
import { Fault, Loading } from "../../parts/notice.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { nameOfPeriod, wordOf } from "../../periods.ts";
import { useRead } from "../../queries.ts";
import "../../styles/insights.css";
import { Change } from "./change.tsx";
import { Explanation } from "./explanation.tsx";
import { Failures, SlowestCalls, WorstHours } from "./failures.tsx";
import { InsightLocations } from "./insight-locations.tsx";
import { ScoreCard } from "./score-card.tsx";
import { ScoreHistory } from "./score-history.tsx";
import { Times } from "./times.tsx";

export function InsightPage({ params }: { readonly params?: { readonly id: string } }) {
  const id = params?.id ?? "";
  const around = neighboursOf(id);
  const path = (report: string): string => `insights/${encodeURIComponent(report)}/`;
  const { data, error, refetch } = useRead<InsightReport>(["insights", id], path(id));
  const before = data?.change?.insights_id;
  const { data: previous } = useRead<InsightReport>(["insights", before], before && path(before));
  const call = useCalls(data ? [data.call_id] : [])?.get(data?.call_id ?? "");
  if (!data || !around)
    return (
      <>
        <PageHead title="Insights report" above={{ to: "insights", name: "Insights" }} />
        <Fault error={error} retry={refetch} />
        {!error && <Loading what="the report" />}
      </>
    );
  const { kind, start } = around;
  const reports = { report: data, before: before ? previous : undefined };
  return (
    <>
      <PageHead
        title={data.name}
        above={{ to: kind === "WEEK" ? "insights" : "insights?kind=month", name: "Insights" }}
        note={`${nameOfPeriod(kind, start)}, in UTC`}
      >
        {call !== null && (
          <a class="button no-print" href={callAt(data.call_id, start, periodEnd(kind, start))}>
            The call in this {wordOf(kind)}
          </a>
        )}
        <button class="button no-print" type="button" onClick={() => print()}>
          Print
        </button>
      </PageHead>
      <div class="columns">
        <ScoreCard kind={kind} report={data} />
        <ScoreHistory kind={kind} start={start} report={data} />
      </div>
      <Explanation kind={kind} {...reports} />
      <Change kind={kind} {...reports} />
      <InsightLocations report={data} />
      <div class="columns">
        <div class="stack">
          <Failures report={data} />
          <WorstHours report={data} isLinked={call !== null} />
        </div>
        <div class="stack">
          <SlowestCalls report={data} />
        </div>
      </div>
      <Times report={data} />
    </>
  );
}
