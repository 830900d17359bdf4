// One run of a workflow: its calls on one time axis, and the data passed between them.
import { useEffect, useRef } from "preact/hooks";
import { isInFlight } from "../../../../src/model/result.ts";
import type { Workflow } from "../../../../src/model/workflow.ts";
import { now } from "../../now.ts";
import { useOutcome } from "../../outcome.ts";
import { announce } from "../../announcement.tsx";
import { Fault, Loading } from "../../parts/notice.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { formatTime, Time } from "../../parts/time.tsx";
import { useVersioned } from "../../queries.ts";
import { mayRun } from "../../session.ts";
import "../../styles/workflow.css";
import { Steps } from "../../parts/steps.tsx";
import { useCalls } from "../../call-names.ts";
import { ContextCard } from "./context-card.tsx";
import { Passed } from "./passed.tsx";
import { RunFacts } from "./run-facts.tsx";
import { RunState, wordOf } from "../../parts/run-state.tsx";
import type { WorkflowOutcome } from "../../runs.ts";
import { StepsCard } from "./steps-card.tsx";

export const WorkflowRunPage = ({ params }: { readonly params: { readonly id: string } }) => (
  <RunPage key={params.id} id={params.id} />
);

function RunPage({ id }: { readonly id: string }) {
  const { data, error, refetch } = useRun(id);
  if (!data)
    return (
      <>
        <PageHead title="Run of a workflow" above={{ to: "workflows", name: "Workflows" }} />
        <Fault error={error} retry={refetch} />
        {!error && <Loading what="the run" />}
      </>
    );
  return <Run run={data} />;
}

/** Reads the run, and announces its end. */
function useRun(id: string) {
  const read = useOutcome<WorkflowOutcome>("workflow", id);
  const { data } = read;
  const wasInFlight = useRef(false);
  useEffect(() => {
    if (data && wasInFlight.current && !isInFlight(data.meta))
      announce(`The run has ended: ${wordOf(data.meta)}`);
    wasInFlight.current = data !== undefined && isInFlight(data.meta);
  }, [data]);
  return read;
}

function Run({ run }: { readonly run: WorkflowOutcome }) {
  const { meta, results } = run;
  const { data: stored } = useVersioned<Workflow>(
    ["workflows", "stored", meta.workflow_id],
    `workflows/${meta.workflow_id}/`,
  );
  const workflow = stored?.object;
  const ids = isInFlight(meta)
    ? (workflow?.workflow.call_ids ?? [])
    : results.map((result) => result.meta.call_id);
  const calls = useCalls(ids);
  return (
    <>
      <PageHead
        title={`Run of ${formatTime(meta.start_time ?? meta.due_time)}`}
        above={{ to: `workflows/${meta.workflow_id}`, name: meta.name }}
        note={<RunState {...meta} />}
      />
      {meta.message && (
        <div class={meta.result_category === "FAIL" ? "notice fail" : "notice warn"}>
          {meta.message}
        </div>
      )}
      <RunFacts run={run} />
      {isInFlight(meta) ? (
        <Planned dueTime={meta.due_time} callIds={ids} />
      ) : (
        <>
          <StepsCard run={run} calls={calls} />
          <ContextCard run={run} mayRead={stored !== undefined && mayRun(stored)} />
          <Passed run={run} calls={calls} workflow={workflow} />
        </>
      )}
    </>
  );
}

/** The calls that the run will make: their results arrive together, once it has ended. */
const Planned = ({
  dueTime,
  callIds,
}: {
  readonly dueTime: string;
  readonly callIds: readonly string[];
}) => (
  <section class="card" aria-labelledby="planned" aria-busy="true">
    <h2 id="planned">Calls to make</h2>
    <p class="muted">
      {new Date(dueTime).getTime() > now() ? (
        <>
          It is due at <Time at={dueTime} />.
        </>
      ) : (
        "It is in progress."
      )}{" "}
      The results of its calls appear here as soon as it has ended.
    </p>
    <Steps callIds={callIds} />
  </section>
);
