// When, where and by whom a run was made.
import type { Deployment } from "../../../../src/model/deployment.ts";
import type { WorkflowResult } from "../../../../src/model/result.ts";
import { nameOfLocation, useLocations } from "../../locations.tsx";
import { Fact } from "../../parts/fact.tsx";
import { formatMs } from "../../number.ts";
import { Time } from "../../parts/time.tsx";
import { useRead } from "../../queries.ts";
import { inWords } from "../../frequency.ts";
import { durationOf, formatCounts } from "../../workflow-run.ts";

export function RunFacts({ run: { meta, counts } }: { readonly run: WorkflowResult }) {
  const places = useLocations();
  return (
    <section class="card" aria-label="The run">
      <dl class="facts run-facts">
        <Fact name="Calls">{formatCounts(counts)}</Fact>
        <Fact name="Duration">{formatMs(durationOf(meta))}</Fact>
        <Fact name="Location">{nameOfLocation(places, meta.location_id)}</Fact>
        <Fact name="Started by">
          {meta.deployment_id === null ? (
            "Run now, on a page or through the API"
          ) : (
            <Schedule deploymentId={meta.deployment_id} />
          )}
        </Fact>
        <Fact name="Due">
          <Time at={meta.due_time} />
        </Fact>
        <Fact name="Started">{meta.start_time ? <Time at={meta.start_time} /> : "–"}</Fact>
        <Fact name="Ended">{meta.end_time ? <Time at={meta.end_time} /> : "–"}</Fact>
        <Fact name="Agent">{meta.agent_id ?? "–"}</Fact>
        {meta.is_late && <Fact name="Late">it began after its due time</Fact>}
      </dl>
    </section>
  );
}

/** Only its owner can read a deployment, and only while it exists. */
function Schedule({ deploymentId }: { readonly deploymentId: string }) {
  const { data } = useRead<Deployment>(
    ["deployments", deploymentId],
    `deployments/${deploymentId}/`,
  );
  if (!data) return <>Schedule</>;
  const { frequency, run_delay, between_calls_delay } = data.deployment;
  return (
    <>
      Schedule, {inWords(frequency)}
      {run_delay > 0 && `, ${run_delay} s after the trigger`}
      {between_calls_delay > 0 && `, ${between_calls_delay} s between calls`}
    </>
  );
}
