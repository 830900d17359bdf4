// Statistics of a call: of one period, and of periods or single calls before or since an instant.
import type { Call } from "../../model/call.ts";
import { formatInstant, formatPeriodTime } from "../../model/instant.ts";
import { periodEnd, periodStart } from "../../model/periods.ts";
import type { PeriodKind } from "../../model/periods.ts";
import { advancedStatOf, codesOfType, statOf } from "../../model/stat.ts";
import { Type } from "../../model/type.ts";
import type { Direction, PeriodRow, RawEntry, StatQuery } from "../../store/records.ts";
import { defineEndpoint } from "../endpoint.ts";
import type { ApiRequest, Endpoint, EndpointDeps } from "../endpoint.ts";
import { toPage } from "../http/paging.ts";
import { optional } from "../http/parameters.ts";
import type { Values } from "../http/parameters.ts";
import { callSharing } from "../shared-calls.ts";
import { ALL_LOCATIONS, locationToFilter } from "../requested-location.ts";
import {
  MAX_RAW,
  MAX_STATS,
  PeriodStatSchema,
  STAT_PARAMETERS,
  STATS_PARAMETERS,
  StatsSchema,
} from "./stat-schemas.ts";

const tag = "Statistics";

type OfCall = ApiRequest<"/:id/">;
type StatRequest = OfCall & { readonly query: Values<typeof STAT_PARAMETERS> };
type StatsRequest = OfCall & {
  readonly query: Values<typeof STATS_PARAMETERS>;
};

export const statEndpoints = (deps: EndpointDeps): Endpoint[] => [
  defineEndpoint({
    operationId: "getStat",
    methods: ["GET"],
    path: "/calls/:id/stats/",
    tag,
    summary: "Statistics of one period",
    description:
      "Of the period that contains `time`, in UTC; `stat` is null for a period without such calls. Open to those who may see the call's statistics.",
    missing: "API Call",
    level: "VIEWER",
    query: STAT_PARAMETERS,
    answer: PeriodStatSchema,
    handle: (request) => periodStat(deps, request),
  }),
  listing(deps, "since", "forwards"),
  listing(deps, "before", "backwards"),
];

/** Extends `get`: answers with statistics if the query has `kind`. */
export const callOrStat = (deps: EndpointDeps, get: Endpoint): Endpoint =>
  defineEndpoint({
    ...get,
    path: "/calls/:id/",
    summary: `${get.summary}; with \`kind\`, its statistics of one period`,
    query: { ...STAT_PARAMETERS, kind: optional(STAT_PARAMETERS.kind) },
    answer: Type.Union([get.answer, PeriodStatSchema]),
    async handle(request) {
      const { kind } = request.query;
      if (kind === undefined) return get.handle(request);
      const answer = await periodStat(deps, { ...request, query: { ...request.query, kind } });
      return { status: 200, answer };
    },
  });

const listing = (deps: EndpointDeps, name: "since" | "before", direction: Direction): Endpoint =>
  defineEndpoint({
    operationId: `listStats${name === "since" ? "Since" : "Before"}`,
    methods: ["GET"],
    path: `/calls/:id/stats/${name as "since"}`,
    tag,
    summary:
      name === "since"
        ? "Statistics of the periods since one, oldest first"
        : "Statistics of the periods up to one, newest first",
    description: `Only periods with such calls are listed, the one that contains \`time\` included; with \`kind=RAW\`, single calls ${name === "since" ? "from `time` on" : "up to `time`"}.`,
    missing: "API Call",
    level: "VIEWER",
    query: STATS_PARAMETERS,
    answer: StatsSchema,
    handle: (request) =>
      request.query.kind === "RAW"
        ? rawStats(deps, request, direction)
        : periodStats(deps, request, request.query.kind, direction),
  });

async function periodStat(deps: EndpointDeps, request: StatRequest): Promise<unknown> {
  const { kind, type } = request.query;
  const of = await subjectOf(deps, request);
  const time = periodStart(kind, await timeOf(deps, request));
  const summaries = await deps.store.stats.period(statQuery(of, kind), time);
  return {
    meta: { ...about(of, request), time: formatPeriodTime(time) },
    stat: statOf(summaries, type, time),
    adv_stat: advancedStatOf(summaries, type),
  };
}

async function periodStats(
  deps: EndpointDeps,
  request: StatsRequest,
  kind: PeriodKind,
  direction: Direction,
): Promise<unknown> {
  const { type } = request.query;
  const limit = request.query.limit(MAX_STATS);
  const of = await subjectOf(deps, request);
  const position = deps.cursors.decode(request.scope(), request.query.cursor);
  const from =
    position === undefined ? periodStart(kind, await timeOf(deps, request)) : Number(position[0]);
  const rows = await deps.store.stats.periods(
    statQuery(of, kind),
    codesOfType(type),
    from,
    direction,
    limit + 1,
  );
  const { meta, items } = toPage(rows, limit, ({ time }) =>
    deps.cursors.encode(request.scope(), [beside(kind, time, direction)]),
  );
  return {
    meta: {
      ...about(of, request),
      ...range(from, items.at(-1)?.time ?? from, formatPeriodTime),
      ...meta,
    },
    stats: items.map((row) => statEntry(row, type)),
  };
}

/** A period in a list. */
export const statEntry = ({ time, summaries }: PeriodRow, type: string) => ({
  ...statOf(summaries, type, time),
  adv_stat: advancedStatOf(summaries, type),
});

async function rawStats(
  deps: EndpointDeps,
  request: StatsRequest,
  direction: Direction,
): Promise<unknown> {
  const { type } = request.query;
  const limit = request.query.limit(MAX_RAW);
  const round = direction === "forwards" ? Math.ceil : Math.floor;
  const of = await subjectOf(deps, request);
  const position = deps.cursors.decode(request.scope(), request.query.cursor);
  const from = position
    ? { time: Number(position[0]), afterId: String(position[1]) }
    : { time: round(await exactTimeOf(deps, request)), afterId: null };
  const rows = await deps.store.stats.raw(
    { call_id: of.call.id, location_id: of.location_id },
    codesOfType(type),
    from,
    direction,
    limit + 1,
  );
  const { meta, items } = toPage(rows, limit, ({ time, id }) =>
    deps.cursors.encode(request.scope(), [time, id]),
  );
  return {
    meta: {
      ...about(of, request),
      ...range(from.time, items.at(-1)?.time ?? from.time, formatInstant),
      ...meta,
    },
    stats: items.map(rawStat),
  };
}

export const rawStat = ({ id, time, latency, http_code, content_length }: RawEntry) => ({
  result_id: id,
  time: formatInstant(time),
  latency,
  http_code,
  content_length,
});

interface AboutStats extends Pick<StatRequest, "principal" | "params"> {
  readonly query: {
    readonly kind: string;
    readonly type: string;
    readonly time: number | undefined;
    readonly location_id: string | undefined;
  };
}

/** The subject of statistics. */
interface Subject {
  readonly call: Call;
  /** Null: all locations together. */
  readonly location_id: string | null;
}

export async function subjectOf({ store }: EndpointDeps, request: AboutStats): Promise<Subject> {
  const { principal, params, query } = request;
  const call = await callSharing("stats", store, principal, params.id);
  return { call, location_id: await locationToFilter(store, query.location_id) };
}

export const timeOf = async (deps: EndpointDeps, request: AboutStats): Promise<number> =>
  Math.floor(await exactTimeOf(deps, request));

const exactTimeOf = async ({ store }: EndpointDeps, { query }: AboutStats): Promise<number> =>
  query.time ?? (await store.now());

export const statQuery = ({ call, location_id }: Subject, kind: PeriodKind): StatQuery => ({
  call_id: call.id,
  kind,
  location_id,
});

export const about = ({ call, location_id }: Subject, { query }: AboutStats) => ({
  kind: query.kind,
  call_id: call.id,
  type: query.type,
  location_id: location_id ?? ALL_LOCATIONS,
  name: call.meta.name,
});

/** Returns the start of the next period in this direction. */
const beside = (kind: PeriodKind, time: number, direction: Direction): number =>
  direction === "forwards" ? periodEnd(kind, time) : periodStart(kind, time - 1);

/** The times of a page: from its start to its last entry. */
const range = (
  from: number,
  last: number,
  format: (ms: number) => string,
): { readonly min_time: string; readonly max_time: string } => ({
  min_time: format(Math.min(from, last)),
  max_time: format(Math.max(from, last)),
});
