// The order of a run at a caller's request.
import { AppError, invalid } from "../model/errors.ts";
import { canRun } from "../model/access.ts";
import type { TargetKind } from "../model/tick.ts";
import { manualRun } from "../dispatch/pending-run.ts";
import type { PendingRun } from "../store/ports/run-store.ts";
import { visible } from "./owned-documents.ts";
import type { ApiRequest, EndpointDeps } from "./http/endpoint.ts";
import { resolveLocation } from "./locations.ts";

export interface RunTarget {
  readonly kind: TargetKind;
  readonly label: string;
}

/** What the body holds, validated. */
export interface RunOrder {
  readonly location_id?: string;
  readonly context?: Readonly<Record<string, unknown>>;
  readonly run_delay?: number;
  readonly between_calls_delay?: number;
}

export async function orderRun(
  { store }: EndpointDeps,
  { principal, params }: ApiRequest<"/:id/">,
  { kind, label }: RunTarget,
  order: RunOrder,
): Promise<PendingRun> {
  const stored = await store.documents.get(kind, params.id);
  const target = visible(label, stored, principal);
  if (!canRun(principal, target))
    throw new AppError(
      "forbidden",
      `Only the owner of this ${label}, and its organization where it is shared with it, may run it`,
    );
  const { location_id = "", context = {} } = order;
  const location = await resolveLocation(store, "location_id", location_id);
  if ("fault" in location) throw invalid(location.fault);
  return manualRun({
    target_id: target.id,
    target_kind: kind,
    between_calls_delay: order.between_calls_delay ?? 0,
    location_id: location.id,
    owner: principal.owner,
    context: inUpperCase(context),
    run_delay: order.run_delay ?? 0,
    now: await store.now(),
  });
}

const inUpperCase = (context: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(context).map(([name, value]) => [name.toUpperCase(), value]));
