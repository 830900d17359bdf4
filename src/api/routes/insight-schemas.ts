// The query parameters and answers of insights.
import { EXAMPLE, Hostname, Id, mark, Name, nullable, Timestamp } from "../../model/fields.ts";
import { RESULT_CODES } from "../../model/result.ts";
import { BANDS, SCORE_VERSION } from "../../model/score.ts";
import { PHASES } from "../../model/timing.ts";
import { Type } from "../../model/type.ts";
import { named } from "../endpoint.ts";
import { LIST_PAGING, text, truth, truthOrNone } from "../http/parameters.ts";

const WEEKLY = truth("weekly reports; otherwise monthly ones");

export const LIST_PARAMETERS = {
  ...LIST_PAGING,
  call_id: text("only the reports of this call", EXAMPLE.id),
  weekly: truthOrNone("only weekly reports", "only monthly ones", "both"),
};
export const RANK_PARAMETERS = {
  reverse: truth("worst first"),
  inc_org: truth("also calls shared with the organization"),
  weekly: WEEKLY,
};
export const LATEST_PARAMETERS = { weekly: WEEKLY };

const Score = Type.Integer({ minimum: 0, maximum: 999, examples: [874] });
const ReportId = Type.String({ examples: [`${EXAMPLE.id}__2026-08-03__2026-08-10`] });
const Url = Type.String({ description: "of the call", examples: [EXAMPLE.url] });
const Count = Type.Integer({ minimum: 0, examples: [12] });
const Ms = Type.Number({ minimum: 0, description: "milliseconds", examples: [120] });
const Share = Type.Number({ minimum: 0, maximum: 1, examples: [0.99] });
const Percent = Type.Number({ minimum: 0, maximum: 100, examples: [99.5] });
const Delta = (without: string) =>
  nullable(Type.Number({ examples: [-0.5] }), { description: `null where either has ${without}` });
const Variation = Type.Number({
  minimum: 0,
  description: "standard deviation ÷ mean of the latencies that are not outliers",
  examples: [0.2],
});

const measures = {
  made: mark(Count, { description: "calls made; if 0, no measure applies" }),
  score: Score,
  pass_percent: mark(Percent, { description: "calls that passed, of those made" }),
  outlier_percent: mark(Percent, {
    description: "outliers, of the calls that passed",
    examples: [0.4],
  }),
  mean_test_length: mark(Ms, { description: "milliseconds, of the calls that passed" }),
  sd_test_length: mark(Ms, {
    description: "milliseconds, standard deviation of the population",
    examples: [35],
  }),
};

const Band = nullable(Type.Enum([...BANDS], { examples: ["good"] }), {
  description: "null without a score",
});

const entry = {
  id: ReportId,
  call_id: Id,
  domain: Hostname,
  name: mark(Name, { description: "name of the call" }),
  start_date: mark(Timestamp, { examples: ["2026-08-03T00:00:00.000000Z"] }),
  end_date: mark(Timestamp, {
    description: "ISO 8601, UTC, microseconds; excluded",
    examples: ["2026-08-10T00:00:00.000000Z"],
  }),
  report_type: Type.Enum([0, 1], { description: "0: monthly, 1: weekly", examples: [1] }),
  rank: Type.Integer({
    minimum: -1,
    description: "among the calls of the owner in the period; 1: the best; -1: no score",
    examples: [1],
  }),
  ...measures,
  version: Type.Enum([SCORE_VERSION]),
};

export const InsightSchema = named("Insight", Type.Object(entry));

const Part = {
  value: mark(Share, { description: "from 0 to 1: the score is 999 times the three values" }),
  points: nullable(
    Type.Integer({
      minimum: 0,
      maximum: 999,
      description: "points lost: the three add up to 999 minus the score; null: no score",
      examples: [9],
    }),
  ),
  sentence: Type.String({
    examples: ["Availability cost 9 points: 1 of 1,000 calls failed; the week before, 2 failed."],
  }),
};

const PartsSchema = named(
  "InsightParts",
  Type.Object({
    availability: Type.Object({ ...Part, made: Count, passed: Count, share: Share }),
    outliers: Type.Object({
      ...Part,
      passed: Count,
      outliers: Count,
      share: mark(Share, { examples: [0.004] }),
    }),
    consistency: Type.Object({ ...Part, variation: Variation }),
  }),
);

const LocationSchema = named(
  "InsightLocation",
  Type.Object({
    location_id: Type.String({ examples: [EXAMPLE.location] }),
    made: Count,
    passed: Count,
    outliers: Count,
    pass_percent: measures.pass_percent,
    mean_test_length: measures.mean_test_length,
    q1: Ms,
    median: Ms,
    q3: Ms,
    outlier_from: mark(Ms, {
      description: "milliseconds; a call that took at least this long is an outlier",
      examples: [310],
    }),
    variation: Variation,
  }),
);

const ChangeSchema = named(
  "InsightChange",
  Type.Object({
    insights_id: mark(ReportId, { description: "the report of the period before" }),
    score: nullable(Type.Integer({ examples: [-12] }), {
      description: "null where either has no score",
    }),
    rank: nullable(Type.Integer({ examples: [1] }), {
      description: "above 0: further from the best; null where either has no score",
    }),
    pass_percent: Delta("no call made"),
    outlier_percent: Delta("no call that passed"),
    mean_test_length: Delta("no call that passed"),
    sd_test_length: Delta("no call that passed"),
  }),
);

const percentile = nullable(Ms);

export const InsightReportSchema = named(
  "InsightReport",
  Type.Object({
    ...entry,
    band: Band,
    parts: PartsSchema,
    change: nullable(ChangeSchema, {
      description: "from the period before; null where that has no report",
    }),
    missed: mark(Count, { description: "runs that were missed; they do not count" }),
    failures: Type.Array(Type.Object({ result: Type.Enum([...RESULT_CODES]), count: Count }), {
      description: "results other than COMPLETE, the most frequent first",
      examples: [[{ result: "HTTP_SERVER_ERROR", count: 9 }]],
    }),
    percentiles: Type.Object({
      p50: percentile,
      p75: percentile,
      p90: percentile,
      p95: percentile,
      p99: percentile,
    }),
    phases: Type.Object(Object.fromEntries(PHASES.map((phase) => [phase, nullable(Ms)] as const)), {
      description: "averages over the calls that reached the phase",
    }),
    locations: Type.Array(LocationSchema),
    worst_hours: Type.Array(
      Type.Object({
        time: Timestamp,
        made: Count,
        passed: Count,
        mean_test_length: nullable(Ms),
      }),
      { description: "at most five, the worst first" },
    ),
    outliers: Type.Array(
      Type.Object({
        result_id: Id,
        time: Timestamp,
        location_id: Type.String({ examples: [EXAMPLE.location] }),
        latency: mark(Ms, { examples: [2150] }),
      }),
      { description: "at most twenty, the slowest first" },
    ),
  }),
);

export const RankSchema = named(
  "InsightRank",
  Type.Object({
    meta: Type.Object({
      start: Type.String({
        description: "date: the first day of the oldest period",
        examples: ["2026-08-03"],
      }),
      period: Type.Enum(["weekly", "monthly"]),
    }),
    results: Type.Array(
      Type.Object({
        id: mark(Id, { description: "id of the call" }),
        insights_id: mark(ReportId, { description: "the most recent report" }),
        api_name: mark(Name, { description: "name of the call" }),
        api_url: Url,
        url: Url,
        ...measures,
        mean_test_length_before: nullable(Ms, {
          description:
            "milliseconds, in the period right before; null where it has no report, or no call passed",
        }),
        band: Band,
        results: Type.Array(Type.Tuple([Timestamp, Score]), {
          description: "start and score of each report, the oldest first",
        }),
        filenames: Type.Array(mark(ReportId, { description: "id of a report" }), {
          description: "the reports of `results`",
        }),
        most_recent: mark(Timestamp, {
          description: "start of the period of the most recent report",
        }),
      }),
    ),
  }),
);
