// From a pending run and its target to the self-contained order that an agent carries out.
import type { Call } from "../model/call.ts";
import type { Tick } from "../model/tick.ts";
import type { StoredDocument } from "../store/ports/document-store.ts";
import type { PendingRun } from "../store/ports/run-store.ts";

/** Undefined when there is no such target. */
export function buildTick(
  run: PendingRun,
  target: StoredDocument | undefined,
): Tick | undefined {
  if (!target) return undefined;
  const { meta, request } = target.document as Call;
  const { method, url, parameters, headers, body } = request;
  return {
    result_id: run.result_id,
    trigger: run.trigger,
    trigger_time: run.trigger_time,
    due_time: run.due_time,
    latest_start: run.latest_start,
    deployment_id: run.deployment_id,
    location_id: run.location_id,
    context: { ...run.context },
    calls: [
      {
        result_id: run.result_id,
        call_id: target.id,
        name: meta.name,
        domain: meta.domain,
        tags: [...meta.tags],
        request: { method, url, parameters, headers, body },
      },
    ],
  };
}
