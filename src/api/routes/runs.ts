// Runs of a call at a caller's request.
import { Type } from "typebox";
import { Id } from "../../model/fields.ts";
import { createValidator } from "../../model/validate.ts";
import { defineEndpoint } from "../http/endpoint.ts";
import type { Endpoint, EndpointDeps } from "../http/endpoint.ts";
import { named } from "../openapi/openapi.ts";
import { orderRun } from "../order-run.ts";
import { RUN_FIELDS, RUN_PARAMETERS, runNow } from "../run-now.ts";

const TARGET = { kind: "call", label: "API Call" } as const;

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
      const order = runBody.parse(request.body);
      const run = await orderRun(deps, request, TARGET, order);
      const { target_id: call_id, result_id, location_id, context } = run;
      return runNow(deps, request, run, {
        answer: { call_id, result_id, location_id, context: { ...context } },
        idOf: (answer) => answer.result_id,
        wait: request.query.wait,
      });
    },
  }),
];
