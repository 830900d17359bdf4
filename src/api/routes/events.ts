// Streams results as server-sent events, as they are recorded.
import { Id, LocationRef, Timestamp, nullable } from "../../model/fields.ts";
import { RESULT_CODES, ResultCategorySchema } from "../../model/result.ts";
import { Type } from "../../model/type.ts";
import { defineEndpoint, named } from "../endpoint.ts";
import type { Endpoint, EndpointDeps } from "../endpoint.ts";
import { eventStream } from "../event-stream.ts";
import { text } from "../http/parameters.ts";
import type { StreamedAnswer } from "../http/streamed-answer.ts";

const EventSchema = named(
  "RecordedEvent",
  Type.Object({
    result_id: Id,
    call_id: nullable(Id, { description: "null in the event `workflow_result`" }),
    workflow_id: nullable(Id),
    workflow_result_id: nullable(Id),
    location_id: LocationRef,
    deployment_id: nullable(Id),
    result: Type.Enum([...RESULT_CODES]),
    result_category: ResultCategorySchema,
    time: Timestamp,
    latency: nullable(Type.Integer({ description: "milliseconds", examples: [120] })),
    is_late: Type.Boolean({ description: "the run started more than a second late" }),
  }),
);

export const eventEndpoints = ({ events, clock }: EndpointDeps): Endpoint[] => [
  defineEndpoint({
    operationId: "streamEvents",
    methods: ["GET"],
    path: "/events/",
    tag: "Results",
    summary: "Stream results as they are recorded, as server-sent events",
    description:
      "An event `result` for each result of an API Call whose results you may read, and `workflow_result` for each run of a Workflow that you may read, within about a second. A stream resumes after the event named by the header `Last-Event-ID` or by `last_event_id`, if that event is at most about ten minutes old; otherwise it begins with an event `gap`: reload the data that you show. It ends when the key is revoked or the session is over, and does not keep a session open. Results of calls due more than a day ago produce no events.",
    level: "VIEWER",
    lasting: true,
    query: { last_event_id: text("`id` of the last event that you received", "") },
    answer: EventSchema,
    // Describes the `data` of an event: OpenAPI 3.1 cannot describe a stream.
    media: { "text/event-stream": { schema: EventSchema, example: (of: unknown) => of } },
    async handle({ principal, session, query, lastEventId, ended }): Promise<StreamedAnswer> {
      const lastId = lastEventId ?? query.last_event_id;
      return {
        contentType: "text/event-stream; charset=utf-8",
        headers: { "x-accel-buffering": "no" }, // nginx would buffer events
        text: () => eventStream({ events, clock, principal, session, lastId, ended: ended() }),
      };
    },
  }),
];
