// One report: creates, shows or edits it.
import type { Report } from "../../../../src/model/report.ts";
import { pathOf } from "../../address.ts";
import type { Versioned } from "../../api.ts";
import { announce } from "../../announcement.tsx";
import { NeedsLevel } from "../../parts/needs-level.tsx";
import { Fault, Loading } from "../../parts/notice.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { invalidate, useVersioned } from "../../queries.ts";
import { has, mayChange } from "../../session.ts";
import "../../styles/reports.css";
import { ReportForm } from "./report-form.tsx";
import { ReportView } from "./report-view.tsx";
import { useRouteFromHere } from "../../shown.ts";

const ABOVE = { to: "reports", name: "Reports" };

interface Routed {
  readonly params: { readonly id: string };
}

export const ReportPage = ({ params: { id } }: Routed) =>
  id === "new" ? <NewReport /> : <Stored key={id} id={id} />;

export const ReportEditPage = ({ params: { id } }: Routed) => <Stored key={id} id={id} isEdited />;

function NewReport() {
  const route = useRouteFromHere();
  const saved = async ({ id, meta }: Report): Promise<void> => {
    await invalidate(["reports"]);
    announce(`Created the report "${meta.name}"`);
    route(pathOf(`reports/${id}`), true);
  };
  return (
    <>
      <PageHead title="New report" above={ABOVE} />
      {has("EDITOR") ? (
        <ReportForm stored={undefined} onSaved={saved} onCancel={() => route(pathOf("reports"))} />
      ) : (
        <NeedsLevel level="EDITOR" does="create reports" />
      )}
    </>
  );
}

function Stored({ id, isEdited = false }: { readonly id: string; readonly isEdited?: boolean }) {
  const { data, error, refetch } = useVersioned<Report>(
    ["reports", "stored", id],
    `reports/${encodeURIComponent(id)}/`,
  );
  if (!data)
    return (
      <>
        <PageHead title="Report" above={ABOVE} />
        <Fault error={error} retry={refetch} />
        {!error && <Loading what="the report" />}
      </>
    );
  if (!isEdited) return <ReportView report={data.object} mayChange={mayChange(data)} />;
  return <Edit stored={data} />;
}

function Edit({ stored }: { readonly stored: Versioned<Report> }) {
  const route = useRouteFromHere();
  const { id, meta } = stored.object;
  const back = (): void => void route(pathOf(`reports/${id}`), true);
  const saved = async (): Promise<void> => {
    announce("Saved");
    await invalidate(["reports"]);
    back();
  };
  return (
    <>
      <PageHead title={`Edit ${meta.name}`} above={{ to: `reports/${id}`, name: meta.name }} />
      {mayChange(stored) ? (
        <ReportForm stored={stored} onSaved={saved} onCancel={back} />
      ) : (
        <p class="notice">Only {meta.owner} may change this report, with an EDITOR or OWNER key.</p>
      )}
    </>
  );
}
