// "Run now": hands a run that was ordered to the bus at once, and where asked to, waits for its
// end.
import { Type } from "typebox";
import { DelaySeconds } from "../model/deployment.ts";
import { withDefault } from "../model/fields.ts";
import type { TargetKind } from "../model/tick.ts";
import type { PendingRun } from "../store/ports/run-store.ts";
import type { ApiRequest, EndpointDeps } from "./http/endpoint.ts";
import { integer } from "./http/parameters.ts";

const MAX_WAIT_SECONDS = 60;
const FIRST_POLL_MS = 50;
const SLOWEST_POLL_MS = 250;

const Context = Type.Record(Type.String(), Type.Unknown(), {
  maxProperties: 100,
  description: "variables of this run; names are read in upper case",
});

/** What the body of every run may hold. */
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

export interface Started<Answer> {
  readonly answer: Answer;
  /** Of the run that is answered. */
  readonly idOf: (answer: Answer) => string;
  /** Seconds. */
  readonly wait: number;
}

/**
 * A run that the bus did not take is forgotten again: its caller is told, and may repeat the
 * request.
 */
export async function runNow<Answer>(
  deps: EndpointDeps,
  request: ApiRequest,
  run: PendingRun,
  started: Started<Answer>,
): Promise<Answer> {
  const { store, dispatcher } = deps;
  const answer = await request.change(async (within, audit) => {
    await within.pendingRuns.insert([run]);
    await audit("run", run.target_kind, run.target_id);
    return started.answer;
  });
  const id = started.idOf(answer);
  const isRepeated = id !== run.result_id;
  if (!isRepeated)
    try {
      await dispatcher.dispatch([run]);
    } catch (cause) {
      await store.pendingRuns.remove(run.result_id);
      await request.forget();
      throw cause;
    }
  const awaited = { kind: run.target_kind, id, seconds: started.wait };
  await endOf(deps, awaited, request.ended);
  return answer;
}

/** Resolves when the run has an outcome, `seconds` are over, or nobody waits any more. */
async function endOf(
  { store, clock }: EndpointDeps,
  {
    kind,
    id,
    seconds,
  }: {
    readonly kind: TargetKind;
    readonly id: string;
    readonly seconds: number;
  },
  ended: AbortSignal,
): Promise<void> {
  const outcomes = kind === "call" ? store.results : store.workflowResults;
  const deadline = clock.monotonic() + seconds * 1000;
  let pause = FIRST_POLL_MS;
  for (;;) {
    const left = deadline - clock.monotonic();
    if (left <= 0 || ended.aborted) return;
    if (await outcomes.get(id)) return;
    // Rejects when `ended` aborts, which the next turn sees.
    await clock.pause(Math.min(pause, left), ended).catch(() => undefined);
    pause = Math.min(pause * 1.5, SLOWEST_POLL_MS);
  }
}
