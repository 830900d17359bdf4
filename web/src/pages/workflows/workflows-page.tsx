// The workflows, each with its last run.
import type { Deployment } from "../../../../src/model/deployment.ts";
import type { Workflow } from "../../../../src/model/workflow.ts";
import { useAll, useList } from "../../lists.ts";
import { NeedsLevel } from "../../parts/needs-level.tsx";
import { Empty, Fault, Loading } from "../../parts/notice.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { SearchedList } from "../../parts/searched-list.tsx";
import { Tags } from "../../parts/tags.tsx";
import { has, isMine } from "../../session.ts";
import "../../styles/workflow.css";
import { LastRun } from "./last-run.tsx";
import { inWords } from "../../frequency.ts";

export function WorkflowsPage() {
  const list = useList<Workflow>(["workflows", "list"], "workflows/");
  const { rows, error } = list;
  return (
    <>
      <PageHead title="Workflows" note="API calls that run one after another.">
        {has("EDITOR") && (
          <a class="button primary" href="workflows/new">
            New workflow
          </a>
        )}
      </PageHead>
      <Fault error={error} retry={list.refetch} />
      {!rows && !error && <Loading what="workflows" />}
      {rows?.length === 0 && <NoWorkflows />}
      {rows && rows.length > 0 && (
        <SearchedList
          list={list}
          noun="workflow"
          by="name or tag"
          texts={({ meta }) => [meta.name, meta.description, meta.owner, ...meta.tags]}
        >
          {(found) => <WorkflowTable workflows={found} />}
        </SearchedList>
      )}
    </>
  );
}

const NoWorkflows = () => (
  <Empty title="No workflows yet">
    <p>
      A workflow runs several calls one after another, as a user does: sign in, search, buy. Cookies
      can pass from call to call, and a failure can end the run, so you see which step breaks.
    </p>
    {has("EDITOR") ? (
      <div class="row">
        <a class="button primary" href="workflows/new">
          New workflow
        </a>
        <a class="button" href="calls">
          See the calls it can run
        </a>
      </div>
    ) : (
      <NeedsLevel level="EDITOR" does="create workflows" />
    )}
  </Empty>
);

function WorkflowTable({ workflows }: { readonly workflows: readonly Workflow[] }) {
  const { data, error } = useAll<Deployment>(["deployments", "all"], "deployments/");
  const deployments = data && Map.groupBy(data, ({ deployment }) => deployment.target_id);
  return (
    <div class="scroll-x">
      <table class="workflows blocks">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Last run</th>
            <th scope="col" class="number">
              Calls
            </th>
            <th scope="col">Stops on failure</th>
            <th scope="col">Carries cookies</th>
            <th scope="col">Deployed</th>
          </tr>
        </thead>
        <tbody>
          {workflows.map((workflow) => (
            <WorkflowRow
              key={workflow.id}
              workflow={workflow}
              deployed={
                deployments ? runs(deployments.get(workflow.id) ?? []) : (error?.message ?? "…")
              }
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

const WorkflowRow = ({
  workflow: { id, meta, workflow },
  deployed,
}: {
  readonly workflow: Workflow;
  /** How often it runs, or why that is not known. */
  readonly deployed: string;
}) => (
  <tr>
    <th scope="row" class="name whole">
      <a href={`workflows/${id}`}>{meta.name}</a>
      {!isMine(meta) && <span class="muted small"> shared by {meta.owner}</span>}
      {meta.description && <div class="muted small description">{meta.description}</div>}
      <Tags tags={meta.tags} />
    </th>
    <td class="whole" data-label="Last run">
      <LastRun workflowId={id} />
    </td>
    <td class="number" data-label="Calls">
      {workflow.call_ids.length}
    </td>
    <td data-label="Stops on failure">{workflow.stop_on_failure ? "Yes" : "No"}</td>
    <td data-label="Carries cookies">{workflow.handle_cookies ? "Yes" : "No"}</td>
    <td class="deployed" data-label="Deployed">
      {deployed}
    </td>
  </tr>
);

/** `every 5 minutes`, `every 5 minutes, every hour (2 deployments)`; an en dash for none. */
function runs(deployments: readonly Deployment[]): string {
  if (deployments.length === 0) return "–";
  const frequencies = new Set(deployments.map(({ deployment }) => deployment.frequency));
  const words = [...frequencies].toSorted((a, b) => a - b).map(inWords);
  return words.join(", ") + (deployments.length > 1 ? ` (${deployments.length} deployments)` : "");
}
