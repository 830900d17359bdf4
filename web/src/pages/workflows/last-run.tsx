// The newest ended run of a workflow.
import { isInFlight } from "../../../../src/model/result.ts";
import type { WorkflowResult } from "../../../../src/model/result.ts";
import type { List } from "../../api.ts";
import { formatAgo } from "../../clock.ts";
import { now, useNow } from "../../now.ts";
import { formatTime } from "../../parts/time.tsx";
import { useRead } from "../../queries.ts";
import { newestFirst, timeOfRun } from "../../run-times.ts";
import { RunState } from "../../parts/run-state.tsx";

/** The next runs of several deployments may be queued already. */
const ENOUGH = 5;
const AGO_EVERY_MS = 5000;

export function LastRun({ workflowId }: { readonly workflowId: string }) {
  const { data, error } = useRead<List<WorkflowResult>>(
    ["workflow-results", workflowId, "last"],
    `workflows/${workflowId}/results/?order=desc&limit=${ENOUGH}`,
  );
  useNow(AGO_EVERY_MS);
  if (error) return <span class="muted">{error.message}</span>;
  if (!data) return <span class="muted">…</span>;
  const runs = newestFirst(data.results);
  const run = runs.find(({ meta }) => !isInFlight(meta)) ?? runs[0];
  if (!run) return <span class="muted">Never run</span>;
  const time = timeOfRun(run);
  // This machine's clock may be behind.
  const shownAt = isInFlight(run.meta) ? now() : Math.max(now(), time);
  return (
    <a class="last-run" href={`workflow-results/${run.id}`} title={formatTime(time)}>
      <RunState {...run.meta} /> {formatAgo(time, shownAt)}
    </a>
  );
}
