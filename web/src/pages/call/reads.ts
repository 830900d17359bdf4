// The reads of a call's page: only what it shows. Events trigger them again.
import type { Bucket, Spread } from "../../../../src/model/histogram.ts";
import type { PeriodKind } from "../../../../src/model/periods.ts";
import { isInFlight } from "../../../../src/model/result.ts";
import type { ListedResult, ResultCode } from "../../../../src/model/result.ts";
import { useEffect, useState } from "preact/hooks";
import { send, withQuery } from "../../api.ts";
import type { List } from "../../api.ts";
import { overviewKey } from "../../call-overview.ts";
import type { CallOverview } from "../../call-overview.ts";
import { readAll } from "../../lists.ts";
import { now } from "../../now.ts";
import { invalidate, useQuery, useRead } from "../../queries.ts";
import { MOST_LINES, sampleOfResult, sampleOfStat, withMissed, withTimesOf } from "./sample.ts";
import type { Sample, StatEntry } from "./sample.ts";
import { kindOf, periodsIn } from "./view.ts";
import type { View } from "./view.ts";

const MOST_PERIODS = 1000;

export interface HistogramAnswer {
  /** The time that is counted: whole periods, which may begin before the range and end after it. */
  readonly meta: { readonly kind: PeriodKind; readonly time: string; readonly until: string };
  readonly count: number;
  readonly buckets: readonly Bucket[] | null;
  readonly locations: readonly Spread[];
  readonly results: readonly { readonly result: ResultCode; readonly count: number }[];
}

interface StatsAnswer {
  readonly stats: readonly StatEntry[];
}

const iso = (ms: number): string => new Date(ms).toISOString();

export const statsPath = (
  id: string,
  direction: "since" | "before",
  query: Readonly<Record<string, string | number | undefined>>,
): string => withQuery(`calls/${id}/stats/${direction}`, query);

type HistogramView = Pick<View, "grain" | "range" | "location" | "type">;

export function useHistogram(id: string, { grain, range, location, type }: HistogramView) {
  const kind = kindOf(grain);
  const [from, to] = range;
  return useRead<HistogramAnswer>(
    ["calls", id, "histogram", kind, from, to, location, type],
    withQuery(`calls/${id}/histogram/`, {
      kind,
      time: iso(from),
      until: iso(to - 1),
      location_id: location,
      type,
    }),
  );
}

export const useStats = (id: string, path: string, name: string, enabled = true) =>
  useRead<StatsAnswer>(["calls", id, "stats", name, path], path, {
    enabled,
  });

/** Reads the last days at each location, newest first; empty: not read yet. */
export const useDaysAt = (
  id: string,
  locations: readonly string[],
  limit: number,
  type: View["type"],
) =>
  useQuery<readonly { readonly location: string; readonly stats: readonly StatEntry[] }[]>(
    ["calls", id, "stats", "days-at", locations, limit, type],
    ({ signal }) =>
      Promise.all(
        locations.map(async (location) => {
          const query = { kind: "DAY", limit, type, location_id: location };
          const path = statsPath(id, "before", query);
          const { stats } = await send<StatsAnswer>("GET", path, { signal });
          return { location, stats };
        }),
      ),
    { enabled: locations.length > 0 },
  ).data ?? [];

const [YOUNG_MS, GROWS_EVERY_MS] = [120_000, 4000];

/**
 * Tells whether a simulated call was just created: results for the time before may still be
 * arriving (`sonde simulate`, the demo), without events. Meanwhile, polls its statistics and the
 * locations, which may be as new. `created` is undefined for other calls.
 */
export function useGrowing(id: string, created: string | undefined): boolean {
  const until = created === undefined ? 0 : Date.parse(created) + YOUNG_MS;
  const [isGrowing, setGrowing] = useState(false);
  useEffect(() => {
    const isYoung = (): boolean => until > now();
    setGrowing(isYoung());
    if (!isYoung()) return undefined;
    const timer = setInterval(() => {
      void invalidate(["calls", id, "stats"], ["calls", id, "series"], ["agents", "info"]);
      if (isYoung()) return;
      clearInterval(timer);
      setGrowing(false);
    }, GROWS_EVERY_MS);
    return () => clearInterval(timer);
  }, [id, until]);
  return isGrowing;
}

export const MOST_LATEST = 50;

/** Reads the newest results, for the current state. */
export const useLatest = (id: string) =>
  useRead<List<ListedResult>>(
    ["calls", id, "results", "latest"],
    `calls/${id}/results/?order=desc&limit=${MOST_LATEST}`,
  );

/** Reads the newest results at locations that have none among the newest of all. */
export const useLatestAt = (id: string, locations: readonly string[]) =>
  useQuery<readonly ListedResult[]>(
    ["calls", id, "results", "latest-at", locations],
    async ({ signal }) => {
      const query = { order: "desc", limit: MOST_LATEST };
      const lists = await Promise.all(
        locations.map((location_id) => {
          const path = withQuery(`calls/${id}/results/`, { ...query, location_id });
          return send<List<ListedResult>>("GET", path, { signal });
        }),
      );
      return lists.flatMap(({ results }) => results);
    },
    { enabled: locations.length > 0 },
  ).data ?? [];

/** Reads the state at each location: the newest results may all be from others. */
export const useOverview = (id: string) =>
  useRead<CallOverview>(overviewKey(id), `calls/${id}/overview/`);

export interface Series {
  /** At the chosen location, or at all together. */
  readonly all: readonly Sample[];
  /** By location, if there are several and none is chosen; periods are not read for too many. */
  readonly each: readonly { readonly location: string; readonly samples: readonly Sample[] }[];
}

/** Reads what the charts show. `locations` are those where calls were made. */
export function useSeries(id: string, view: View, locations: readonly string[] | undefined) {
  const { grain, range, location, type, measure } = view;
  return useQuery<Series>(
    ["calls", id, "series", grain, ...range, location, type, measure, locations],
    ({ signal }) =>
      grain === "RAW"
        ? readResults(id, view, signal)
        : readPeriods(id, view, locations ?? [], signal),
    { enabled: locations !== undefined },
  );
}

async function readPeriods(
  id: string,
  { grain, range, location, type, measure }: View,
  locations: readonly string[],
  signal: AbortSignal,
): Promise<Series> {
  const kind = kindOf(grain);
  const read = async (of: string, location_id: string | undefined): Promise<StatEntry[]> => {
    const limit = Math.min(periodsIn(kind, range), MOST_PERIODS);
    const query = { kind, time: iso(range[0]), type: of, location_id, limit };
    const path = statsPath(id, "since", query);
    const { stats } = await send<StatsAnswer>("GET", path, { signal });
    return stats.filter(({ time }) => Date.parse(time) < range[1]);
  };
  const samplesOf = (stats: readonly StatEntry[]): Sample[] =>
    stats.map((entry) => sampleOfStat(entry, measure));
  const apart = location === undefined && locations.length > 1 ? locations : [];
  const shown = apart.length > MOST_LINES ? [] : apart;
  const [every, missed, timed, each] = await Promise.all([
    read("ALL", location).then(samplesOf),
    read("MISSED", location),
    type === "ALL" ? undefined : read(type, location).then(samplesOf),
    Promise.all(shown.map(async (one) => samplesOf(await read(type, one)))),
  ]);
  return {
    all: withMissed(timed ? withTimesOf(every, timed) : every, missed),
    each: apart.map((one, at) => ({ location: one, samples: each[at] ?? [] })),
  };
}

async function readResults(
  id: string,
  { range, location, type }: View,
  signal: AbortSignal,
): Promise<Series> {
  const path = withQuery(`calls/${id}/results/`, {
    from: iso(range[0]),
    to: iso(range[1]),
    location_id: location,
  });
  const results = await readAll<ListedResult>(path, signal);
  const ended = results.filter(({ meta }) => !isInFlight(meta));
  const byPlace = Map.groupBy(ended, ({ meta }) => meta.location_id);
  const samples = (some: readonly ListedResult[]): Sample[] =>
    some
      .map((result) => sampleOfResult(result, type === "ALL"))
      .toSorted((a, b) => a.time - b.time);
  return {
    all: samples(ended),
    each:
      byPlace.size > 1
        ? [...byPlace].map(([place, some]) => ({ location: place, samples: samples(some) }))
        : [],
  };
}
