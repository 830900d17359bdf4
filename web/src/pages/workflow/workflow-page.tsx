// A workflow: its calls in order, its settings, and its runs. Its owner changes it here.
import { useState } from "preact/hooks";
import type { Workflow } from "../../../../src/model/workflow.ts";
import { pathOf } from "../../address.ts";
import type { Versioned } from "../../api.ts";
import { DeleteButton } from "../../parts/delete-button.tsx";
import { DeployDialog } from "../../parts/deploy/deploy-dialog.tsx";
import { Deployments } from "../../parts/deploy/deploy.tsx";
import { NeedsLevel } from "../../parts/needs-level.tsx";
import { Fault, Loading } from "../../parts/notice.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { RunButton, RunNow } from "../../parts/run-now.tsx";
import { invalidate, useVersioned } from "../../queries.ts";
import { has, mayChange, mayRun } from "../../session.ts";
import "../../styles/workflow.css";
import { Editor } from "./editor.tsx";
import { Reading } from "./reading.tsx";
import { Runs } from "./runs.tsx";
import { useRouteFromHere } from "../../shown.ts";

const ABOVE = { to: "workflows", name: "Workflows" };

export function NewWorkflowPage() {
  const route = useRouteFromHere();
  return (
    <>
      <PageHead
        title="New workflow"
        above={ABOVE}
        note="Calls run from top to bottom, each after the one before it has ended."
      />
      {has("EDITOR") ? (
        <Editor stored={undefined} onSaved={({ id }) => route(pathOf(`workflows/${id}`), true)} />
      ) : (
        <NeedsLevel level="EDITOR" does="create workflows" />
      )}
    </>
  );
}

export const WorkflowPage = ({ params }: { readonly params: { readonly id: string } }) => (
  <Stored key={params.id} id={params.id} />
);

function Stored({ id }: { readonly id: string }) {
  const path = `workflows/${encodeURIComponent(id)}/`;
  const { data, error, refetch } = useVersioned<Workflow>(["workflows", "stored", id], path);
  if (!data)
    return (
      <>
        <PageHead title="Workflow" above={ABOVE} />
        <Fault error={error} retry={refetch} />
        {!error && <Loading what="the workflow" />}
      </>
    );
  return <Loaded stored={data} />;
}

function Loaded({ stored }: { readonly stored: Versioned<Workflow> }) {
  const route = useRouteFromHere();
  const { id, meta } = stored.object;
  const target = { kind: "workflow", id, name: meta.name } as const;
  const isChangeable = mayChange(stored);
  const isRunnable = mayRun(stored);
  const isOwn = stored.role === "owner";
  const [isDeploying, setDeploying] = useState(false);
  return (
    <>
      <PageHead title={meta.name} above={ABOVE} note={meta.description}>
        {isRunnable && (
          <>
            <RunButton />
            <button class="button" type="button" onClick={() => setDeploying(true)}>
              Deploy
            </button>
          </>
        )}
        {isChangeable && (
          <DeleteButton
            what={`the workflow "${meta.name}"`}
            path={`workflows/${id}/`}
            consequence="Its deployments are deleted too, and its runs are no longer shown. Its calls stay."
            onDeleted={async () => {
              route(pathOf("workflows"), true);
              await invalidate(["workflows"], ["deployments"]);
            }}
          />
        )}
      </PageHead>
      {isChangeable ? <Editor stored={stored} /> : <Reading stored={stored} />}
      {isRunnable && <RunNow {...target} />}
      {(isRunnable || isOwn) && <Deployments {...target} isOwn={isOwn} />}
      <Runs workflowId={id} isRunnable={isRunnable} />
      {isDeploying && <DeployDialog target={target} onClose={() => setDeploying(false)} />}
    </>
  );
}
