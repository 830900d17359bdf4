// The reports that the reader owns, and those shared with the reader.
import type { Report } from "../../../../src/model/report.ts";
import { useList } from "../../lists.ts";
import { NeedsLevel } from "../../parts/needs-level.tsx";
import { Empty, Fault, Loading } from "../../parts/notice.tsx";
import { formatCount } from "../../number.ts";
import { PageHead } from "../../parts/page-head.tsx";
import { SearchedList } from "../../parts/searched-list.tsx";
import { Tags } from "../../parts/tags.tsx";
import { Time } from "../../parts/time.tsx";
import { has, isMine } from "../../session.ts";
import "../../styles/reports.css";

export function ReportsPage() {
  const list = useList<Report>(["reports"], "reports/");
  const { rows, error, refetch } = list;
  return (
    <>
      <PageHead title="Reports" note="Compare calls and locations side by side, to print or share.">
        {has("EDITOR") && (
          <a class="button primary" href="reports/new">
            New report
          </a>
        )}
      </PageHead>
      <Fault error={error} retry={refetch} />
      {!rows && !error && <Loading what="reports" />}
      {rows?.length === 0 && <NoReports />}
      {rows && rows.length > 0 && (
        <SearchedList
          list={list}
          noun="report"
          by="name or tag"
          texts={({ meta }) => [meta.name, meta.description, meta.owner, ...meta.tags]}
        >
          {(found) => <ReportTable reports={found} />}
        </SearchedList>
      )}
    </>
  );
}

const NoReports = () => (
  <Empty title="No reports yet">
    <p>
      A report compares calls at locations over a day, a week, a month or a year: one call from
      several locations, or several calls that should be equally fast.
    </p>
    {has("EDITOR") ? (
      <a class="button" href="reports/new">
        Create the first report
      </a>
    ) : (
      <NeedsLevel level="EDITOR" does="create reports" />
    )}
  </Empty>
);

const ReportTable = ({ reports }: { readonly reports: readonly Report[] }) => (
  <div class="scroll-x">
    <table class="blocks">
      <thead>
        <tr>
          <th scope="col">Report</th>
          <th scope="col" class="number">
            Groups
          </th>
          <th scope="col" class="number">
            Rows
          </th>
          <th scope="col">Owner</th>
          <th scope="col">Last change</th>
        </tr>
      </thead>
      <tbody>
        {reports.map((report) => (
          <Row key={report.id} report={report} />
        ))}
      </tbody>
    </table>
  </div>
);

const Row = ({ report: { id, meta, access, groups } }: { readonly report: Report }) => (
  <tr>
    <th scope="row" class="report-name whole">
      <a href={`reports/${id}`}>{meta.name}</a>
      {meta.description && <span class="muted small">{meta.description}</span>}
      <Tags tags={meta.tags} />
    </th>
    <td class="number" data-label="Groups">
      {formatCount(groups.length)}
    </td>
    <td class="number" data-label="Rows">
      {formatCount(groups.reduce((count, { rows }) => count + rows.length, 0))}
    </td>
    <td class="whole" data-label="Owner">
      {isMine(meta) ? "you" : meta.owner}
      <span class="muted small"> {sharingOf(access)}</span>
    </td>
    <td class="whole" data-label="Last change">
      <Time at={meta.last_update} />
    </td>
  </tr>
);

function sharingOf({ org, public: everyone }: Report["access"]): string {
  if (everyone) return "shared with everyone";
  return org ? "shared with the organization" : "";
}
