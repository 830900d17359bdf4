// The outcome of one call, and the report of one run. A target's behaviour is data, never an error.
import type { Static } from "typebox";
import { CertificateSchema } from "./certificate.ts";
import { ContentSchema } from "./content.ts";
import { dateTime, EXAMPLE, Hostname, LIMITS, LocationRef, nullable } from "./fields.ts";
import { parseInstant } from "./instant.ts";
import { DAY_MS } from "./periods.ts";
import { TRIGGERS } from "./tick.ts";
import { ReportedTimingSchema, TimingSchema } from "./timing.ts";
import { Type } from "./type.ts";
import { createValidator } from "./validate.ts";

export const RESULT_CODES = [
  "COMPLETE",
  "HTTP_REDIRECT_ERROR",
  "HTTP_CLIENT_ERROR",
  "HTTP_SERVER_ERROR",
  "CONNECTION_ERROR",
  "QUEUED",
  "PROCESSING",
  "SKIPPED",
  "UNABLE_TO_RUN",
  "AGENT_ERROR",
  "MISSED",
] as const;
export type ResultCode = (typeof RESULT_CODES)[number];

/** Codes that the interface reserves: known as a filter, never produced. */
export const RESERVED_CODES = [
  "SLOW_COMPLETE",
  "CONTENT_WARNING",
  "CONTENT_ERROR",
  "HEADER_ERROR",
  "SLA_WARNING",
  "SLA_ERROR",
] as const;

const RESULT_CATEGORIES = ["PASS", "WARNING", "FAIL"] as const;
export type ResultCategory = (typeof RESULT_CATEGORIES)[number];

/** What lists can be filtered by; NONE: results without a category. */
export const CATEGORY_FILTERS = [...RESULT_CATEGORIES, "NONE"] as const;

const CATEGORIES: Partial<Record<ResultCode, ResultCategory>> = {
  COMPLETE: "PASS",
  HTTP_REDIRECT_ERROR: "WARNING",
  HTTP_CLIENT_ERROR: "WARNING",
  HTTP_SERVER_ERROR: "FAIL",
  CONNECTION_ERROR: "FAIL",
};

/** Null if no call was made, or the fault is ours. */
export const categoryOf = (code: ResultCode): ResultCategory | null => CATEGORIES[code] ?? null;

/** Whether the run has no outcome yet. */
export const isInFlight = ({ result }: { readonly result: ResultCode }): boolean =>
  result === "QUEUED" || result === "PROCESSING";

/** The codes of every call that was made: what `ALL` counts. */
export const MADE_CODES: readonly ResultCode[] = RESULT_CODES.filter(
  (code) => categoryOf(code) !== null,
);

export const PASSED_CODES: readonly ResultCode[] = RESULT_CODES.filter(
  (code) => categoryOf(code) === "PASS",
);

export const ResultCategorySchema = nullable(Type.Enum([...RESULT_CATEGORIES]));
const Text = nullable(Type.String(), { examples: [null] });
const ExampleId = Type.String({ examples: [EXAMPLE.id] });
const Address = nullable(Type.String({ examples: ["203.0.113.7"] }));
const Url = Type.String({ examples: [EXAMPLE.url] });
// Both databases must store these numbers, and read them as they are.
const Status = nullable(Type.Integer({ minimum: 0, maximum: 999, examples: [200] }));
const Count = nullable(
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, examples: [512] }),
);
const Instant = Type.Refine(
  dateTime(Type.String({ examples: [EXAMPLE.time] })),
  (text) => parseInstant(text) !== undefined,
);
const Pairs = Type.Array(Type.Object({ key: Type.String(), value: Type.String() }), {
  examples: [[{ key: "Content-Type", value: "application/json" }]],
});

/** When and where a run was made, and how it ended. */
const RUN_META = {
  deployment_id: nullable(ExampleId),
  location_id: LocationRef,
  agent_id: nullable(Type.String({ examples: ["agent-5f0c6b1e9a7d4382"] })),
  trigger: Type.Enum([...TRIGGERS]),
  trigger_time: Instant,
  due_time: Instant,
  start_time: nullable(Instant),
  end_time: nullable(Instant),
  result: Type.Enum([...RESULT_CODES]),
  result_category: ResultCategorySchema,
  message: Text,
};

const HOP = { url: Url, http_code: Status, dest_ip: Address };

export const ResultSchema = Type.Object({
  id: ExampleId,
  meta: Type.Object({
    call_id: ExampleId,
    workflow_id: nullable(ExampleId),
    workflow_result_id: nullable(ExampleId),
    ...RUN_META,
    domain: Hostname,
    url: Url,
    http_code: Status,
    source_ip: Address,
    dest_ip: Address,
    request_size: Count,
    response_size: Count,
    redirects: Type.Integer({ minimum: 0, maximum: 1000 }),
    is_late: Type.Boolean({ examples: [false] }),
  }),
  timing: TimingSchema,
  request: nullable(
    Type.Object(
      {
        url: Url,
        method: Type.String({ examples: ["GET"] }),
        headers: Pairs,
        body: Text,
      },
      {
        description:
          "as it was sent, credentials masked; of a call that was not made, the URL and method of its definition",
      },
    ),
  ),
  response: nullable(
    Type.Object({
      status_code: Type.Integer({ examples: [200] }),
      status_string: Type.String({ examples: ["OK"] }),
      headers: Pairs,
    }),
  ),
  hops: Type.Array(Type.Object({ ...HOP, timing: TimingSchema })),
  /** Absent in results from agents that do not report it. */
  certificate: Type.Optional(nullable(CertificateSchema)),
});
export type Result = Static<typeof ResultSchema>;

/** As lists have it: a request may be large. */
export type ListedResult = Omit<Result, "request">;

/** A result as agents report it: with the body of its response, which is stored separately. */
export const ReportedResultSchema = Type.Object({
  ...ResultSchema.properties,
  timing: ReportedTimingSchema,
  hops: Type.Array(Type.Object({ ...HOP, timing: ReportedTimingSchema })),
  content: Type.Optional(nullable(ContentSchema)),
});
export type ReportedResult = Static<typeof ReportedResultSchema>;

/** The outcome of a workflow's run as a whole. */
export const WorkflowResultSchema = Type.Object({
  id: ExampleId,
  meta: Type.Object({
    workflow_id: ExampleId,
    name: Type.String({ examples: ["Buy a book"] }),
    ...RUN_META,
    is_late: Type.Boolean({ examples: [false] }),
  }),
  /** How its calls ended; `not_made` counts those without a category. */
  counts: Type.Object({
    calls: Type.Integer({ minimum: 0 }),
    passed: Type.Integer({ minimum: 0 }),
    warnings: Type.Integer({ minimum: 0 }),
    failed: Type.Integer({ minimum: 0 }),
    not_made: Type.Integer({ minimum: 0 }),
  }),
});
export type WorkflowResult = Static<typeof WorkflowResultSchema>;

/** The texts of a result that both databases must store as they are, in an index. */
const NAMES = [
  "workflow_id",
  "workflow_result_id",
  "deployment_id",
  "agent_id",
  "domain",
  "source_ip",
  "dest_ip",
] as const;

/** No half of a pair, and not more than the 2,700 bytes of an index of PostgreSQL. */
const NAME = /^(?:\p{ASCII}{0,2600}|\P{Surrogate}{0,600})$/u;
const isName = (text: string): boolean => NAME.test(text) && !text.includes("\0");

/** An agent's report of one run: its results are recorded together or not at all. */
export const RunReportSchema = Type.Refine(
  Type.Object({
    /** `result_id` of the tick. */
    run_id: Type.String(),
    location_id: Type.String(),
    agent_id: Type.String(),
    /** One per call, in order; none if a whole workflow was MISSED. */
    results: Type.Array(ReportedResultSchema),
    workflow: Type.Optional(nullable(WorkflowResultSchema)),
    /** The context that a workflow's run was given, as its result keeps it; absent if none. */
    context: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  }),
  ({ run_id, results, workflow }) =>
    (workflow != null || results.length > 0) &&
    isName(run_id) &&
    results.every(({ meta }) => NAMES.every((field) => isName(meta[field] ?? ""))),
);
export type RunReport = Static<typeof RunReportSchema>;

export const runReportValidator = createValidator(RunReportSchema);

/** Longer than an agent's clock may be off, and longer than a trigger may precede its run. */
const MOST_EARLY_MS = 7 * DAY_MS;
/** Longer than a workflow can take, with a day before each of its calls. */
const MOST_LATE_MS = (LIMITS.callIds + 2) * DAY_MS;

/**
 * Whether all times in a report may be those of a run that was due at `due`. With others, queries
 * would miss its results, and retention would keep them forever.
 */
export const hasTimesNear = ({ results, workflow }: RunReport, due: number): boolean =>
  [...results, ...(workflow ? [workflow] : [])].every(({ meta }) =>
    [meta.trigger_time, meta.due_time, meta.start_time, meta.end_time].every((text) => {
      const after = text === null ? 0 : (parseInstant(text) ?? Infinity) - due;
      return -MOST_EARLY_MS <= after && after <= MOST_LATE_MS;
    }),
  );

/** When the call was made, or was due if it was not made; epoch milliseconds. */
export const timeOfResult = (meta: Pick<Result["meta"], "start_time" | "due_time">): number =>
  parseInstant(meta.start_time ?? meta.due_time) as number;

/** The agent of every simulated result. */
export const SIMULATION = "simulation";

/** The latency of statistics, in whole milliseconds, from a total in microseconds. */
export const latencyOf = (total: number | null): number | null =>
  total === null ? null : Math.round(total / 1000);
