// Runs of a call at a caller's request.
import { Type } from "typebox";
import { AppError, invalid } from "../../model/errors.ts";
import { canRun } from "../../model/access.ts";
import { Id } from "../../model/fields.ts";
import { createValidator } from "../../model/validate.ts";
import { manualRun } from "../../dispatch/pending-run.ts";
import type { PendingRun } from "../../store/ports/run-store.ts";
import { visible } from "../crud.ts";
import { defineEndpoint } from "../endpoint.ts";
import type { ApiRequest, Endpoint, EndpointDeps } from "../endpoint.ts";
import { resolveLocation } from "../locations.ts";
import { named } from "../openapi.ts";
import { inUpperCase, RUN_FIELDS, RUN_PARAMETERS, runNow } from "../run-now.ts";

const RunBody = Type.Object(RUN_FIELDS, { additionalProperties: false });
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
      const run = await orderedRun(deps, request);
      const { target_id: call_id, result_id, location_id, context } = run;
      return runNow(deps, request, run, {
        answer: { call_id, result_id, location_id, context: { ...context } },
        idOf: (answer) => answer.result_id,
        wait: request.query.wait,
      });
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
