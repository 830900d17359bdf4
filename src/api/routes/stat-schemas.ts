// The query parameters and answers of statistics.
import { dateTime, Id, LocationRef, Name, Timestamp, mark, nullable } from "../../model/fields.ts";
import { PERIOD_KINDS } from "../../model/periods.ts";
import { STAT_TYPES } from "../../model/stat.ts";
import { PHASES } from "../../model/timing.ts";
import { Type } from "../../model/type.ts";
import { named } from "../endpoint.ts";
import { choice, CURSOR, exactInstant, instant, readInteger } from "../http/parameters.ts";
import type { Parameter } from "../http/parameters.ts";
import { PageMetaSchema } from "../http/paging.ts";
import { LOCATION_FILTER } from "../requested-location.ts";

export const MAX_STATS = 1000;
export const MAX_RAW = 5000;

export const TYPE = choice("only calls with this result; ALL: every call made", STAT_TYPES, "ALL");
export const KIND = choice("kind of period", PERIOD_KINDS, "DAY");
export const KIND_OR_RAW = choice(
  "kind of period; RAW: single calls",
  [...PERIOD_KINDS, "RAW"],
  "DAY",
);

const TIME =
  "ISO 8601, UTC when it has no offset; selects the period that contains it (default: now)";
const common = { type: TYPE, location_id: LOCATION_FILTER };

export const STAT_PARAMETERS = { time: instant(TIME), ...common, kind: KIND };

/** Read as a function of the endpoint's own maximum, which is also the default. */
const LIMIT: Parameter<(maximum: number) => number> = {
  schema: Type.Integer({
    minimum: 1,
    maximum: MAX_RAW,
    description: `maximum entries per page (default and upper limit: ${MAX_STATS}; of RAW: ${MAX_RAW})`,
    examples: [100],
  }),
  read: (given, name) => (maximum) =>
    given === undefined ? maximum : readInteger(given, name, { minimum: 1, maximum }),
};

export const STATS_PARAMETERS = {
  time: exactInstant(TIME),
  ...common,
  kind: KIND_OR_RAW,
  cursor: CURSOR,
  limit: LIMIT,
};

const Count = Type.Integer({ minimum: 0, examples: [12] });
const Ms = nullable(Type.Number({ description: "milliseconds", examples: [120] }));
export const PeriodTime = dateTime(Type.String({ examples: ["2026-10-01T00:00:00Z"] }));

const stat = {
  time: mark(PeriodTime, { description: "start of the period" }),
  count: Count,
  max_latency: Ms,
  avg_latency: Ms,
  min_latency: Type.Optional(Ms),
  standard_deviation: Type.Optional(Type.Number({ description: "of the population" })),
  skewness: Type.Optional(Type.Number({ description: "of the population" })),
};

const AdvancedStatSchema = named(
  "AdvancedStat",
  Type.Object({
    p50: Ms,
    p75: Ms,
    p90: Ms,
    p95: Ms,
    p99: Ms,
    missed: Count,
    pass_percent: nullable(Type.Number({ examples: [99.5] })),
    phases: Type.Object(Object.fromEntries(PHASES.map((phase) => [phase, Ms] as const)), {
      description: "averages over the calls that reached the phase",
    }),
  }),
);

export const RawSchema = named(
  "RawStat",
  Type.Object({
    result_id: Id,
    time: Timestamp,
    latency: nullable(Type.Integer({ examples: [120] })),
    http_code: nullable(Type.Integer({ examples: [200] })),
    content_length: nullable(Type.Integer({ examples: [512] })),
  }),
);

/** A period in a list. */
export const STAT_ENTRY = { ...stat, adv_stat: nullable(AdvancedStatSchema) };

export const StatEntrySchema = named("StatEntry", Type.Object(STAT_ENTRY));

/** The subject of statistics, in the `meta` of an answer. */
export const ABOUT_STATS = {
  kind: Type.String({ examples: ["DAY"] }),
  call_id: Id,
  type: Type.String({ examples: ["ALL"] }),
  location_id: LocationRef,
  name: mark(Name, { description: "name of the call" }),
};

/** One period. */
export const PERIOD_STAT = {
  stat: nullable(named("Stat", Type.Object(stat))),
  adv_stat: nullable(AdvancedStatSchema),
};

export const PeriodStatSchema = named(
  "PeriodStat",
  Type.Object({ meta: Type.Object({ ...ABOUT_STATS, time: PeriodTime }), ...PERIOD_STAT }),
);

export const StatsSchema = named(
  "Stats",
  Type.Object({
    meta: Type.Object({
      ...ABOUT_STATS,
      max_time: PeriodTime,
      min_time: PeriodTime,
      ...PageMetaSchema.properties,
    }),
    stats: Type.Union([Type.Array(StatEntrySchema), Type.Array(RawSchema)]),
  }),
);
