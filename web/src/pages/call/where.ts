// Tells where a call is slow: at which locations it changed, or which is slowest now.
import type { Spread } from "../../../../src/model/histogram.ts";
import { formatMs } from "../../number.ts";
import { listed } from "../../places.ts";
import { factorText, medianOf } from "./answer.ts";
import type { Change, PhaseAverages } from "./answer.ts";

/** The days at a location, in ascending order. */
export interface PlaceDays {
  readonly location: string;
  readonly days: readonly PhaseAverages[];
}

interface PlaceChange {
  readonly location: string;
  /** Medians of the days before and since, in milliseconds. */
  readonly before: number;
  readonly after: number;
}

/** Below this factor, a location has not changed, or not more than another. */
const LEAST_FACTOR = 1.25;
const MOST_NAMED = 3;

/**
 * `At all 3 locations, most at Paris: 3.0 times as long (5.44 s)`. Undefined unless two
 * locations have times both before and since.
 */
export function whereChanged(
  change: Change,
  places: readonly PlaceDays[],
  nameOf: (location: string) => string,
): string | undefined {
  const all = places.flatMap((place) => changeAt(place, change));
  const rises = change.after > change.before;
  const factorOf = ({ before, after }: PlaceChange) => (rises ? after / before : before / after);
  const changed = all
    .filter((place) => factorOf(place) >= LEAST_FACTOR)
    .toSorted((a, b) => factorOf(b) - factorOf(a));
  const [most, least] = [changed[0], changed.at(-1)];
  if (all.length < 2 || !most || !least) return undefined;
  const there = `${factorText(most)} (${formatMs(most.after)})`;
  const names = changed.map(({ location }) => nameOf(location));
  const isEverywhere = changed.length === all.length;
  const where = isEverywhere
    ? allOf(all.length)
    : names.length > MOST_NAMED
      ? `${names.length} of ${all.length} locations`
      : listed(names);
  if (changed.length === 1) return `Only at ${where}: ${there}`;
  const at = isEverywhere || names.length > MOST_NAMED ? "At" : "Only at";
  if (factorOf(most) < LEAST_FACTOR * factorOf(least))
    return isEverywhere ? `Similar at ${where}` : `${at} ${where}`;
  return `${at} ${where}, most at ${names[0]}: ${there}`;
}

const allOf = (count: number): string =>
  count === 2 ? "both locations" : `all ${count} locations`;

/** Compares the medians of passed calls at each location; undefined if none passed. */
export function whereSlow(
  spread: { readonly locations: readonly Spread[] } | undefined,
  nameOf: (location: string) => string,
): string | undefined {
  const known = (spread?.locations ?? [])
    .flatMap(({ location_id, median }) => (median === null ? [] : [{ location_id, median }]))
    .toSorted((a, b) => b.median - a.median);
  const [worst, ...others] = known;
  if (!worst) return undefined;
  const name = nameOf(worst.location_id);
  const best = others.at(-1);
  if (!best) return `Called from ${name} only`;
  if (worst.median < 1.3 * best.median + 2) return `Similar at ${allOf(known.length)}`;
  const slowest = `Slowest at ${name} (median ${formatMs(worst.median)})`;
  return `${slowest}, fastest at ${nameOf(best.location_id)} (${formatMs(best.median)})`;
}

function changeAt({ location, days }: PlaceDays, { phase, since }: Change): PlaceChange[] {
  const timesOf = (some: readonly PhaseAverages[]) =>
    some.flatMap(({ phases }) => phases[phase] ?? []);
  const earlier = timesOf(days.filter(({ time }) => time < since));
  const later = timesOf(days.filter(({ time }) => time >= since));
  if (earlier.length === 0 || later.length === 0) return [];
  const [before, after] = [medianOf(earlier), medianOf(later)];
  return before > 0 && after > 0 ? [{ location, before, after }] : [];
}
