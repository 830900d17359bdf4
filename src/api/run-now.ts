// "Run now": orders a run, dispatches it at once and, on request, waits for its outcome.
import { dispatch } from "../dispatch/dispatch.ts";
import { canRun, ownedBy } from "../model/access.ts";
import { nameOfVariable, namesOfOne } from "../model/context.ts";
import { DelaySeconds } from "../model/deployment.ts";
import { AppError, invalid, isFull, isUnavailable } from "../model/errors.ts";
import { withDefault } from "../model/fields.ts";
import { missedMessage } from "../model/missed.ts";
import { expiryOf, MAX_START_DELAY_MS } from "../model/slots.ts";
import type { TargetKind } from "../model/tick.ts";
import { Type } from "../model/type.ts";
import { show } from "../model/validate.ts";
import { newId } from "../runtime/ids.ts";
import type { PendingRun, StoredDocument } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import type { ApiRequest, EndpointDeps } from "./endpoint.ts";
import { integer } from "./http/parameters.ts";
import { visible } from "./owned-documents.ts";
import { resolveLocation } from "./requested-location.ts";

const MAX_WAIT_SECONDS = 60;
const FIRST_POLL_MS = 50;
const SLOWEST_POLL_MS = 250;
const NOT_TAKEN = missedMessage("hub_unreachable", "the bus did not confirm the run");

/** False for numbers that JSON.parse may have rounded to an integer, or made infinite. */
const isExact = (value: unknown): boolean =>
  typeof value === "number"
    ? Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))
    : typeof value !== "object" || value === null || Object.values(value).every(isExact);

/** Names are read in upper case: of two that differ only in case, one value would be lost. */
function faultOf(context: object | null): string | undefined {
  const [inexact] = Object.entries(context ?? {}).find(([, value]) => !isExact(value)) ?? [];
  if (inexact !== undefined)
    return `${show(inexact)} has a number that cannot be kept exactly; send it as a string`;
  const [one, other] = namesOfOne(Object.keys(context ?? {})) ?? [];
  return other === undefined ? undefined : `${show(one)} and ${show(other)} are the same variable`;
}

const Context = Type.Refine(
  Type.Record(Type.String(), Type.Unknown(), {
    maxProperties: 100,
    description: "variables of this run; names are read in upper case",
    examples: [{ WORKSPACE: "staging" }],
    fault: (_shown: string, context: object) => faultOf(context) ?? "",
  }),
  (context) => typeof context !== "object" || faultOf(context) === undefined,
);

/** The fields of every order of a run. */
export const RUN_FIELDS = {
  location_id: Type.Optional(withDefault(Type.String({ maxLength: 100 }), "")),
  context: Type.Optional(withDefault(Context, {})),
  run_delay: Type.Optional(DelaySeconds),
};

export const RUN_PARAMETERS = {
  wait: integer(
    "seconds to wait for the end of the run before answering",
    { minimum: 0, maximum: MAX_WAIT_SECONDS },
    0,
  ),
};

export interface RunTarget {
  readonly kind: TargetKind;
  readonly label: string;
}

/** A validated body. */
export interface RunBody {
  readonly location_id?: string;
  readonly context?: Readonly<Record<string, unknown>>;
  readonly run_delay?: number;
  readonly between_calls_delay?: number;
}

/**
 * Resolves to the run that the caller orders, unstored, and to its target. Throws unless they may
 * run the target.
 */
async function orderRun(
  store: Store,
  { principal, params }: ApiRequest<"/:id/">,
  { kind, label }: RunTarget,
  order: RunBody,
): Promise<{ readonly run: PendingRun; readonly stored: StoredDocument }> {
  const stored = await visible(store, principal, { kind, label }, params.id);
  if (!canRun(principal, stored))
    throw new AppError(
      "forbidden",
      `Only the owner of this ${label}, and its organization where it is shared with it, may run it`,
    );
  const { location_id = "", context = {} } = order;
  const location = await resolveLocation(store, "location_id", location_id);
  if ("fault" in location) throw invalid(location.fault);
  const run = manualRun({
    target_id: stored.id,
    target_kind: kind,
    between_calls_delay: order.between_calls_delay ?? 0,
    location_id: location.id,
    ...ownedBy(principal),
    context: inUpperCase(context),
    run_delay: order.run_delay ?? 0,
    now: await store.now(),
  });
  return { run, stored };
}

export type RunOrder = Pick<
  PendingRun,
  | "target_id"
  | "target_kind"
  | "between_calls_delay"
  | "location_id"
  | "owner"
  | "owner_org"
  | "context"
> & {
  /** Seconds from the request to the call. */
  readonly run_delay: number;
  /** Epoch milliseconds. */
  readonly now: number;
};

export function manualRun({ run_delay, now, ...order }: RunOrder): PendingRun {
  const due_time = now + run_delay * 1000;
  const latest_start = due_time + MAX_START_DELAY_MS;
  return {
    ...order,
    result_id: newId(now),
    trigger: "MANUAL",
    deployment_id: null,
    call_ids: null,
    trigger_time: now,
    due_time,
    latest_start,
    expires_at: expiryOf(latest_start),
  };
}

const inUpperCase = (context: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(context).map(([name, value]) => [nameOfVariable(name), value]));

export interface Ordered<Answer> {
  readonly target: RunTarget;
  readonly body: RunBody;
  readonly answerOf: (run: PendingRun) => Answer;
  /** The id of the run in the answer. */
  readonly idOf: (answer: Answer) => string;
  /** Seconds. */
  readonly wait: number;
}

/**
 * Orders, dispatches and awaits a run. If the bus does not confirm the run, it is MISSED, and the
 * caller may repeat the request. If the database fails, the run stays ordered.
 */
export async function runNow<Answer>(
  deps: EndpointDeps,
  request: ApiRequest<"/:id/">,
  { target, body, answerOf, idOf, wait }: Ordered<Answer>,
): Promise<Answer> {
  const { store, dispatcher, budgets } = deps;
  // A repeated request orders nothing, and gets its answer even if the target is gone.
  let ordered: PendingRun | undefined;
  const answer = await request.change(async (within, audit) => {
    const { run, stored } = await orderRun(within, request, target, body);
    await within.pendingRuns.insert([run]);
    await budgets.checkOrdered(within, request.principal);
    await audit("run", run.target_kind, run.target_id, [], stored);
    ordered = run;
    return answerOf(run);
  });
  const run = ordered;
  // The ids differ if the transaction was repeated and found the answer of a concurrent request.
  if (run && run.result_id === idOf(answer))
    try {
      await dispatch(dispatcher, [run], run.trigger_time);
    } catch (cause) {
      // The scheduler publishes it instead, and a repeated request gets the same answer.
      if (isUnavailable(cause) && cause.part === "the database") throw cause;
      // First, so that a request repeated meanwhile orders its own run instead of naming this one.
      await request.forget();
      // A bus that did not answer may have the tick: its result then replaces this outcome.
      if (isUnavailable(cause) && !isFull(cause))
        await store.results.recordUnreported([{ run, result: "MISSED", message: NOT_TAKEN }]);
      else await store.pendingRuns.remove(run.result_id);
      throw cause;
    }
  await endOf(deps, target.kind, idOf(answer), wait, request.ended());
  return answer;
}

/** Resolves when the run has an outcome, after `seconds`, or when `ended` aborts. */
async function endOf(
  { store, clock }: EndpointDeps,
  kind: TargetKind,
  id: string,
  seconds: number,
  ended: AbortSignal,
): Promise<void> {
  const outcomes = kind === "call" ? store.results : store.workflowResults;
  const deadline = clock.monotonic() + seconds * 1000;
  let pause = FIRST_POLL_MS;
  for (;;) {
    const left = deadline - clock.monotonic();
    if (left <= 0 || ended.aborted) return;
    if (await outcomes.get(id)) return;
    // Rejects when `ended` aborts; the next turn returns.
    await clock.pause(Math.min(pause, left), ended).catch(() => undefined);
    pause = Math.min(pause * 1.5, SLOWEST_POLL_MS);
  }
}
