// What the weather is like for a run: the load of the hour, slow drift, and what goes wrong.
import { periodStart } from "../model/periods.ts";
import { MINUTE_MS } from "../model/slots.ts";
import { TROUBLED_EVERY } from "./plan.ts";
import type { Series, SimulatedCall } from "./plan.ts";
import { createRandom, partOfKey } from "./random.ts";
import type { Random } from "./random.ts";

export interface Conditions {
  /** How many times as long as at night the service works. */
  readonly slowness: number;
  /** The share of calls that fails. */
  readonly failing: number;
  /** Whether no agent is there to make the call. */
  readonly unattended: boolean;
}

const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
const RELEASE_WEEKS = 6;
const WEEKEND_LOAD = 0.5;

export function conditionsAt(series: Series, time: number): Conditions {
  const { kind } = series.call;
  const week = weekOf(time);
  const intoWeek = time - periodStart("WEEK", time);
  const troubles = [...incidentsIn(series, week), ...troubleIn(series.call, week)].filter(
    ({ from, until }) => intoWeek >= from && intoWeek < until,
  );
  const slowness = troubles.reduce(
    (product, trouble) => product * trouble.slowness,
    (1 + kind.daily * loadAt(time)) * (1 + kind.drift * weeksSinceRelease(series.call, time)),
  );
  const failing = Math.max(kind.failing, ...troubles.map((trouble) => trouble.failing));
  return { slowness, failing, unattended: isUnattended(series, week, intoWeek) };
}

/** Weeks since the first Monday of the epoch. */
export const weekOf = (time: number): number => Math.floor(periodStart("WEEK", time) / WEEK_MS);

/** From 0, at 3:00 UTC, to 1, at 15:00 on a weekday. */
function loadAt(time: number): number {
  const hour = (time % DAY_MS) / HOUR_MS;
  const daily = (1 - Math.cos((2 * Math.PI * (hour - 3)) / 24)) / 2;
  const isWeekend = time - periodStart("WEEK", time) >= 5 * DAY_MS;
  return isWeekend ? daily * WEEKEND_LOAD : daily;
}

const weeksSinceRelease = ({ key }: SimulatedCall, time: number): number =>
  (time / WEEK_MS + (key % 1000) / 100) % RELEASE_WEEKS;

/** Something that goes wrong, for a time: milliseconds since the week began. */
interface Trouble {
  readonly from: number;
  readonly until: number;
  /** The share of calls that fails. */
  readonly failing: number;
  /** How many times as long as otherwise the service works. */
  readonly slowness: number;
}

type Incident = (random: Random) => Omit<Trouble, "from" | "until"> & { readonly hours: number };

const OUTAGE: Incident = (random) => ({
  hours: random.between(0.75, 1.25),
  failing: random.between(0.8, 1),
  slowness: 1,
});
const SLOW_HOUR: Incident = (random) => ({
  hours: random.between(1, 3),
  failing: 0,
  slowness: random.between(2, 4),
});
/** At one of three locations. */
const BAD_LOCATION: Incident = (random) => ({
  hours: random.between(8, 24),
  failing: 0.1,
  slowness: random.between(1.5, 2),
});

/** The same at all locations, except for those of single locations. */
function incidentsIn({ call, key }: Series, week: number): Trouble[] {
  const random = createRandom(partOfKey(call.key, week));
  const isHere = createRandom(partOfKey(key, week)).chance(1 / 3);
  const { incidents } = call.kind;
  const count = Math.floor(incidents) + Number(random.chance(incidents % 1));
  return Array.from({ length: count }, () => {
    const incident = random.pick([OUTAGE, SLOW_HOUR, BAD_LOCATION]);
    const from = random.between(0, WEEK_MS - DAY_MS);
    const { hours, ...trouble } = incident(random);
    return { from, until: from + hours * HOUR_MS, ...trouble, incident };
  }).filter(({ incident }) => incident !== BAD_LOCATION || isHere);
}

/** From Tuesday to Thursday of a troubled week. */
function troubleIn({ kind, troubledWeek }: SimulatedCall, week: number): Trouble[] {
  return kind.troubled && week % TROUBLED_EVERY === troubledWeek
    ? [{ from: DAY_MS, until: 4 * DAY_MS, failing: 0.2, slowness: 1.6 }]
    : [];
}

/** In one week of three, a location's agent is away for half an hour or so. */
function isUnattended({ locationKey }: Series, week: number, intoWeek: number): boolean {
  const random = createRandom(partOfKey(locationKey, week));
  if (!random.chance(1 / 3)) return false;
  const from = random.between(0, WEEK_MS - DAY_MS);
  return intoWeek >= from && intoWeek < from + random.between(10, 45) * MINUTE_MS;
}
