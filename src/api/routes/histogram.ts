// The distribution of a call's latencies, and where its outliers begin.
import { invalid } from "../../model/errors.ts";
import { LocationRef, nullable } from "../../model/fields.ts";
import { histogramOf } from "../../model/histogram.ts";
import { formatInstant, formatPeriodTime, LAST_INSTANT } from "../../model/instant.ts";
import { periodEnd, periodStart } from "../../model/periods.ts";
import type { PeriodKind } from "../../model/periods.ts";
import { RESULT_CODES } from "../../model/result.ts";
import { Type } from "../../model/type.ts";
import { defineEndpoint, named } from "../endpoint.ts";
import type { ApiRequest, Endpoint, EndpointDeps } from "../endpoint.ts";
import { instant } from "../http/parameters.ts";
import type { Values } from "../http/parameters.ts";
import { ABOUT_STATS, PeriodTime, STAT_PARAMETERS } from "./stat-schemas.ts";
import { about, statQuery, subjectOf, timeOf } from "./stats.ts";

/** More than a year of days. */
const MAX_PERIODS = 400;

const PARAMETERS = {
  ...STAT_PARAMETERS,
  until: instant(
    `the last period is the one that contains it (default: that of \`time\`); at most ${MAX_PERIODS} periods`,
  ),
};

const Count = Type.Integer({ minimum: 0, examples: [12] });
const Ms = Type.Integer({ minimum: 0, description: "milliseconds", examples: [120] });
const Quartile = nullable(Type.Number({ description: "milliseconds", examples: [118.5] }));

const HistogramSchema = named(
  "Histogram",
  Type.Object({
    meta: Type.Object({
      ...ABOUT_STATS,
      time: { ...PeriodTime, description: "start of the first period" },
      until: { ...PeriodTime, description: "end of the last period" },
    }),
    count: Count,
    buckets: nullable(
      Type.Array(
        Type.Object({
          from: Ms,
          to: { ...Ms, description: "milliseconds, exclusive", examples: [121] },
          count: Count,
        }),
        { description: "ascending; null where retention has removed counters of these periods" },
      ),
    ),
    locations: Type.Array(
      Type.Object({
        location_id: LocationRef,
        made: Count,
        passed: Count,
        q1: Quartile,
        median: Quartile,
        q3: Quartile,
        outlier_from: nullable(Ms),
        outliers: nullable(Count),
      }),
      {
        description:
          "where calls were made: a latency from `outlier_from` on is an outlier; null where none passed, or where retention has removed counters",
      },
    ),
    results: Type.Array(Type.Object({ result: Type.Enum([...RESULT_CODES]), count: Count }), {
      description: "how often each result occurred, the most frequent first; of any type",
    }),
  }),
);

type HistogramRequest = ApiRequest<"/:id/"> & { readonly query: Values<typeof PARAMETERS> };

export const histogramEndpoints = (deps: EndpointDeps): Endpoint[] => [
  defineEndpoint({
    operationId: "getHistogram",
    methods: ["GET"],
    path: "/calls/:id/histogram/",
    tag: "Statistics",
    summary: "The distribution of latencies, and where outliers begin",
    description:
      "Of the period that contains `time`, or of all up to `until`. Latencies are exact below 256 ms; above, a bucket is within 1 %. Outliers are those of insights, computed from the buckets; results that are uncertain count too. Open to those who may see the call's statistics.",
    missing: "API Call",
    level: "VIEWER",
    query: PARAMETERS,
    answer: HistogramSchema,
    handle: (request) => histogram(deps, request),
  }),
];

async function histogram(deps: EndpointDeps, request: HistogramRequest): Promise<unknown> {
  const { kind, type, until } = request.query;
  const of = await subjectOf(deps, request);
  const time = await timeOf(deps, request);
  const times = periodsBetween(kind, time, until ?? time);
  const byLocation = await deps.store.stats.byLocation(statQuery(of, kind), times);
  return {
    meta: {
      ...about(of, request),
      time: formatPeriodTime(times[0] ?? time),
      until: formatPeriodTime(Math.min(periodEnd(kind, times.at(-1) ?? time), LAST_INSTANT)),
    },
    ...histogramOf(byLocation, type),
  };
}

/**
 * Returns the starts of the periods, from the one that contains `from` to the one that contains
 * `until`. Throws `invalid`.
 */
function periodsBetween(kind: PeriodKind, from: number, until: number): number[] {
  const last = periodStart(kind, until);
  const times: number[] = [];
  for (let time = periodStart(kind, from); time <= last; time = periodEnd(kind, time)) {
    if (times.length === MAX_PERIODS)
      throw invalid(
        `until: '${formatInstant(until)}' is more than ${MAX_PERIODS} periods of kind ${kind} after time: use a longer kind`,
      );
    times.push(time);
  }
  if (times.length === 0)
    throw invalid(
      `until: '${formatInstant(until)}' is earlier than time: '${formatInstant(from)}'`,
    );
  return times;
}
