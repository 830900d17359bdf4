// "Run now": orders a run, hands it to the bus at once, and where asked to, waits for its end.
import { Type } from "typebox";
import type { Static } from "typebox";
import { AppError, invalid } from "../../model/errors.ts";
import { canRun } from "../../model/access.ts";
import { Id, withDefault } from "../../model/fields.ts";
import { DelaySeconds } from "../../model/deployment.ts";
import { createValidator } from "../../model/validate.ts";
import { manualRun } from "../../dispatch/pending-run.ts";
import type { PendingRun } from "../../store/ports/run-store.ts";
import { visible } from "../crud.ts";
import { defineEndpoint } from "../endpoint.ts";
import type { ApiRequest, Endpoint, EndpointDeps } from "../endpoint.ts";
import { resolveLocation } from "../locations.ts";
import { named } from "../openapi.ts";
import { integer } from "../parameters.ts";

const MAX_WAIT_SECONDS = 60;
const FIRST_POLL_MS = 50;
const SLOWEST_POLL_MS = 250;

const Context = Type.Record(Type.String(), Type.Unknown(), {
  maxProperties: 100,
  description: "variables of this run; names are read in upper case",
});

const RunBody = Type.Object(
  {
    location_id: Type.Optional(
      withDefault(Type.String({ maxLength: 100 }), ""),
    ),
    context: Type.Optional(withDefault(Context, {})),
    run_delay: Type.Optional(DelaySeconds),
  },
  { additionalProperties: false },
);
const runBody = createValidator(RunBody);

const RunSchema = named(
  "Run",
  Type.Object({
    call_id: Id,
    result_id: Id,
    location_id: Type.String(),
    context: Type.Record(Type.String(), Type.Unknown()),
  }),
);

const RUN_PARAMETERS = {
  wait: integer(
    "seconds to wait for the end of the run before answering",
    { minimum: 0, maximum: MAX_WAIT_SECONDS },
    0,
  ),
};

export const runEndpoints = (deps: EndpointDeps): Endpoint[] => [
  defineEndpoint({
    operationId: "runCall",
    methods: ["POST"],
    path: "/calls/:id/run",
    tag: "API Calls",
    summary: "Run an API Call now, once",
    level: "EDITOR",
    query: RUN_PARAMETERS,
    body: RunBody,
    answer: RunSchema,
    async handle(request) {
      const answer = await startRun(deps, request);
      const { wait } = request.query;
      await endOf(deps, answer.result_id, wait, request.ended);
      return answer;
    },
  }),
];

async function orderedRun(
  { store }: EndpointDeps,
  { principal, params, body }: ApiRequest<"/:id/">,
): Promise<PendingRun> {
  const { location_id = "", context = {}, run_delay = 0 } = runBody.parse(body);
  const stored = await store.documents.get("call", params.id);
  const call = visible("API Call", stored, principal);
  if (!canRun(principal, call))
    throw new AppError(
      "forbidden",
      "Only the owner of this API Call, and its organization where it is shared with it, may run it",
    );
  const location = await resolveLocation(store, "location_id", location_id);
  if ("fault" in location) throw invalid(location.fault);
  return manualRun({
    target_id: call.id,
    target_kind: "call",
    between_calls_delay: 0,
    location_id: location.id,
    owner: principal.owner,
    context: inUpperCase(context),
    run_delay,
    now: await store.now(),
  });
}

const inUpperCase = (
  context: Readonly<Record<string, unknown>>,
): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(context).map(([name, value]) => [name.toUpperCase(), value]),
  );

/** A run that the bus did not take is forgotten again: its caller is told, and may repeat the request. */
async function startRun(
  deps: EndpointDeps,
  request: ApiRequest<"/:id/">,
): Promise<Static<typeof RunSchema>> {
  const run = await orderedRun(deps, request);
  const { store, dispatcher } = deps;
  const answer = await request.change(async (within, audit) => {
    await within.pendingRuns.insert([run]);
    await audit("run", "call", run.target_id);
    const { target_id: call_id, result_id, location_id, context } = run;
    return { call_id, result_id, location_id, context: { ...context } };
  });
  const isRepeated = answer.result_id !== run.result_id;
  if (isRepeated) return answer;
  try {
    await dispatcher.dispatch([run]);
  } catch (cause) {
    await store.pendingRuns.remove(run.result_id);
    await request.forget();
    throw cause;
  }
  return answer;
}

/** Resolves when the run has an outcome, `seconds` are over, or nobody waits any more. */
async function endOf(
  { store, clock }: EndpointDeps,
  resultId: string,
  seconds: number,
  ended: AbortSignal,
): Promise<void> {
  const deadline = clock.monotonic() + seconds * 1000;
  let pause = FIRST_POLL_MS;
  for (;;) {
    const left = deadline - clock.monotonic();
    if (left <= 0 || ended.aborted) return;
    if (await store.results.get(resultId)) return;
    await clock
      .waitUntil(clock.now() + Math.min(pause, left), ended)
      .catch(() => undefined); // rejects when `ended` aborts, which the next turn sees
    pause = Math.min(pause * 1.5, SLOWEST_POLL_MS);
  }
}
