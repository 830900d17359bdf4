// The conditions of a run: the load of the hour, slow drift, incidents, and an offline agent.
import { DAY_MS, HOUR_MS, periodStart, WEEK_MS } from "../model/periods.ts";
import { SLOW_RELEASE_EVERY, TROUBLED_EVERY } from "./plan.ts";
import type { Series, SimulatedCall } from "./plan.ts";
import { createRandom, partOfKey } from "./random.ts";

export interface Conditions {
  /** The factor by which answers take longer than at the quietest hour. */
  readonly slowness: number;
  /** The share of calls that fail. */
  readonly failing: number;
  /** Whether no agent is online to make the call. */
  readonly unattended: boolean;
}

const RELEASE_WEEKS = 6;
const WEEKEND_LOAD = 0.5;

export function conditionsAt(series: Series, time: number): Conditions {
  const { call } = series;
  const week = weekOf(time);
  const intoWeek = time - periodStart("WEEK", time);
  const daily = 1 + call.service.daily * loadAt(time, intoWeek);
  const drift = 1 + call.service.drift * weeksSinceRelease(call, time);
  const incidents = [...incidentsIn(series, week), ...badDaysIn(call, week)].filter(
    ({ from, until }) => intoWeek >= from && intoWeek < until,
  );
  return {
    slowness: incidents.reduce(
      (product, { slowness }) => product * slowness,
      daily * drift * slownessOfRelease(series, week, intoWeek),
    ),
    failing: Math.max(call.service.failing, ...incidents.map(({ failing }) => failing)),
    unattended: isUnattended(series, week, intoWeek),
  };
}

/** Weeks since the first Monday of the epoch. */
export const weekOf = (time: number): number => Math.floor(periodStart("WEEK", time) / WEEK_MS);

/** From 0, at 3:00 UTC, to 1, at 15:00 on a weekday. */
function loadAt(time: number, intoWeek: number): number {
  const hour = (time % DAY_MS) / HOUR_MS;
  const load = (1 - Math.cos((2 * Math.PI * (hour - 3)) / 24)) / 2;
  return intoWeek >= 5 * DAY_MS ? load * WEEKEND_LOAD : load;
}

const weeksSinceRelease = ({ key }: SimulatedCall, time: number): number =>
  (time / WEEK_MS + (key % 1000) / 100) % RELEASE_WEEKS;

/**
 * Released on a Tuesday at 14:00 UTC. It is slow everywhere, and slowest where its data is
 * farthest.
 */
const SLOW_RELEASE = {
  intoWeek: DAY_MS + 14 * HOUR_MS,
  slowness: 2.2,
  slowest: { location: "sim-virginia", slowness: 3.4 },
};

function slownessOfRelease({ call, location }: Series, week: number, intoWeek: number): number {
  if (!call.service.slowReleases) return 1;
  const { slowness, slowest } = SLOW_RELEASE;
  const weeks = week - call.slowRelease + (intoWeek - SLOW_RELEASE.intoWeek) / WEEK_MS;
  const sinceRelease = (weeks + SLOW_RELEASE_EVERY) % SLOW_RELEASE_EVERY;
  if (sinceRelease >= SLOW_RELEASE_EVERY / 2) return 1;
  return location.id === slowest.location ? slowest.slowness : slowness;
}

interface Incident {
  /** Milliseconds since the week began. */
  readonly from: number;
  readonly until: number;
  /** The share of calls that fail. */
  readonly failing: number;
  /** The factor by which answers take longer. */
  readonly slowness: number;
}

const OUTAGE = { hours: 1, failing: 0.9, slowness: 1 };
const SLOW_HOURS = { hours: 2, failing: 0, slowness: 3 };
/** Affects one location in three. */
const BAD_ROUTE = { hours: 16, failing: 0.1, slowness: 1.75 };

/** Returns incidents that are the same at all locations, except for bad routes. */
function incidentsIn({ call, key }: Series, week: number): Incident[] {
  const random = createRandom(partOfKey(call.key, week));
  const isOnRoute = createRandom(partOfKey(key, week)).chance(1 / 3);
  const { incidents } = call.service;
  const count = Math.floor(incidents) + Number(random.chance(incidents % 1));
  return Array.from({ length: count }, () => {
    const incident = random.pick([OUTAGE, SLOW_HOURS, BAD_ROUTE]);
    const from = random.between(0, WEEK_MS - DAY_MS);
    const until = from + incident.hours * random.between(0.7, 1.4) * HOUR_MS;
    return incident === BAD_ROUTE && !isOnRoute ? [] : [{ ...incident, from, until }];
  }).flat();
}

/** From Tuesday to Thursday of a troubled week. */
const badDaysIn = ({ service, troubledWeek }: SimulatedCall, week: number): Incident[] =>
  service.troubled && week % TROUBLED_EVERY === troubledWeek
    ? [{ from: DAY_MS, until: 4 * DAY_MS, failing: 0.2, slowness: 1.6 }]
    : [];

/** In one week of three, a location's agent is offline for one to two hours. */
function isUnattended({ location }: Series, week: number, intoWeek: number): boolean {
  const random = createRandom(partOfKey(location.key, week));
  if (!random.chance(1 / 3)) return false;
  const from = random.between(0, WEEK_MS - DAY_MS);
  return intoWeek >= from && intoWeek < from + random.between(1, 2) * HOUR_MS;
}
