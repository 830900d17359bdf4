// A report in one period: its groups side by side.
import { periodEnd } from "../../../../src/model/periods.ts";
import type { Report } from "../../../../src/model/report.ts";
import { pathOf, useAddress } from "../../address.ts";
import { withQuery } from "../../api.ts";
import type { List } from "../../api.ts";
import { readPages } from "../../lists.ts";
import { now, useNow } from "../../now.ts";
import { DeleteButton } from "../../parts/delete-button.tsx";
import { Empty, Fault, Loading } from "../../parts/notice.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { nameOfPeriod } from "../../periods.ts";
import { invalidate, useLast, useQuery } from "../../queries.ts";
import { viewedPeriod } from "../../reports.ts";
import type { ReportPeriod, StatGroup } from "../../reports.ts";
import { Export } from "./export.tsx";
import { ReportControls } from "./report-controls.tsx";
import { ReportGroup } from "./report-group.tsx";
import { useRouteFromHere } from "../../shown.ts";

/** The interval for refreshing a period until it has ended, and once more. */
const GROWING_EVERY_MS = 60_000;

interface ReportViewProps {
  readonly report: Report;
  readonly mayChange: boolean;
}

export function ReportView({ report, mayChange }: ReportViewProps) {
  const { id, meta, groups } = report;
  const [query, change] = useAddress();
  useNow(GROWING_EVERY_MS); // without a time in the address, the last period becomes another
  const period = viewedPeriod(query, now());
  const { kind, start, type } = period;
  const { data, error, refetch } = useQuery<readonly StatGroup[]>(
    ["reports", id, "stats", kind, type, start],
    ({ signal }) => readGroups(id, period, signal),
    periodEnd(kind, start) + GROWING_EVERY_MS > now() ? { everyMs: GROWING_EVERY_MS } : {},
  );
  const asked = JSON.stringify([kind, type, start]);
  const last = useLast(id, asked, data && { stats: data, period }, error);
  const hasRows = groups.some(({ rows }) => rows.length > 0);
  return (
    <div class="report">
      <ReportHead report={report} mayChange={mayChange} period={period} />
      <ReportControls period={period} change={change} />
      <Fault error={error} retry={refetch} />
      {!hasRows && <NoRows id={id} mayChange={mayChange} />}
      {hasRows && !last && !error && <Loading what="statistics" />}
      {hasRows &&
        last?.value.stats.map((group, at) => (
          <ReportGroup key={at} group={group} period={last.value.period} isOld={last.isOld} />
        ))}
      <p class="muted small">
        {nameOfPeriod(kind, start)}, in UTC.{" "}
        {type === "COMPLETE"
          ? "Times cover the calls that passed."
          : "Times cover every call made, failed or not."}{" "}
        p95: 95 of 100 of these calls took this long or less. Rows of calls whose statistics you may
        not see are neither shown nor counted. Owner of the report: {meta.owner}.
      </p>
    </div>
  );
}

interface StatsPage extends Pick<List<unknown>, "meta"> {
  readonly groups: readonly StatGroup[];
}

/** Reads every group of a report, in one period. */
async function readGroups(
  id: string,
  { kind, type, start }: ReportPeriod,
  signal: AbortSignal,
): Promise<readonly StatGroup[]> {
  const query = { kind, type, before: new Date(start).toISOString(), limit: 1 };
  const path = withQuery(`reports/${encodeURIComponent(id)}/stats/`, query);
  const pages = await readPages<StatsPage>(path, signal);
  return pages.flatMap(({ groups }) => groups);
}

function ReportHead({
  report: { id, meta },
  mayChange,
  period,
}: ReportViewProps & { readonly period: ReportPeriod }) {
  const route = useRouteFromHere();
  const deleted = async (): Promise<void> => {
    route(pathOf("reports"), true);
    await invalidate(["reports"]);
  };
  return (
    <PageHead
      title={meta.name}
      above={{ to: "reports", name: "Reports" }}
      note={
        <>
          {meta.description}
          <span class="print-only">{nameOfPeriod(period.kind, period.start)}, in UTC</span>
        </>
      }
    >
      <Export id={id} period={period} />
      <button class="button no-print" type="button" onClick={() => print()}>
        Print
      </button>
      {mayChange && (
        <>
          <a class="button no-print" href={`reports/${id}/edit`}>
            Edit
          </a>
          <DeleteButton
            what={`the report "${meta.name}"`}
            path={`reports/${id}/`}
            consequence="Its calls and their statistics stay."
            onDeleted={deleted}
          />
        </>
      )}
    </PageHead>
  );
}

const NoRows = ({ id, mayChange }: { readonly id: string; readonly mayChange: boolean }) => (
  <Empty title="This report has no rows to show">
    {mayChange ? (
      <>
        <p>A row is a call at a location. Add the first ones:</p>
        <a class="button" href={`reports/${id}/edit`}>
          Edit the report
        </a>
      </>
    ) : (
      <p>It is empty, or you may not see the statistics of its calls.</p>
    )}
  </Empty>
);
