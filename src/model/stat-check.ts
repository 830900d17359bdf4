// Finds where stored statistics differ from those of their results.
import type { KeptKind } from "./periods.ts";
import type { ResultCode } from "./result.ts";
import { standardDeviation } from "./summary.ts";
import type { Summary } from "./summary.ts";
import { PHASES } from "./timing.ts";

/** What one row of the stored statistics is about. */
export interface StatPlace {
  readonly kind: KeptKind;
  /** The start of the period. */
  readonly time: number;
  readonly call_id: string;
  readonly location_id: string;
  readonly result: ResultCode;
}

export interface CheckedStats {
  /** How many periods have results or statistics. */
  readonly periods: number;
  /** Where the statistics differ from those of the results. */
  readonly differing: readonly StatPlace[];
}

export interface TimeSpan {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

export interface Difference {
  readonly stored: number;
  readonly recomputed: number;
}

/** By the names of fields, such as `count`, `phases.dns.sum` or `buckets.120`. */
export type Differences = Readonly<Record<string, Difference>>;

/** Relative: the last digits of moments depend on the order in which results arrived. */
const PRECISION = 1e-9;
/** A mean's relative error, which shows in the moments of nearly equal values. */
const NOISE = 1e-12;

/** Returns an empty object if they agree. */
export function differencesOf(stored: Summary, recomputed: Summary): Differences {
  const [before, after] = [exactFieldsOf(stored), exactFieldsOf(recomputed)];
  const exact = [...new Set([...before.keys(), ...after.keys()])].map(
    (name) => [name, before.get(name) ?? 0, after.get(name) ?? 0, 0] as const,
  );
  const tolerances = tolerancesOf(recomputed);
  const moments = (["mean", "m2", "m3"] as const).map(
    (name) => [name, stored[name], recomputed[name], tolerances[name]] as const,
  );
  // NaN differs from every value.
  const differing = [...exact, ...moments].filter(
    ([, one, other, tolerance]) => !(Math.abs(one - other) <= tolerance),
  );
  return Object.fromEntries(
    differing.map(([name, one, other]) => [name, { stored: one, recomputed: other }]),
  );
}

function exactFieldsOf({ count, min, max, phases, buckets }: Summary): Map<string, number> {
  const fields = new Map(Object.entries({ count, min, max }));
  for (const phase of PHASES) {
    fields.set(`phases.${phase}.count`, phases[phase].count);
    fields.set(`phases.${phase}.sum`, phases[phase].sum);
  }
  for (const [bucket, some] of buckets) fields.set(`buckets.${bucket}`, some);
  return fields;
}

/** The third moment is only as precise as its terms, which cancel each other. */
function tolerancesOf(summary: Summary): Readonly<Record<"mean" | "m2" | "m3", number>> {
  const { count, mean, m2, m3 } = summary;
  const [deviation, noise] = [standardDeviation(summary), NOISE * mean];
  return {
    mean: PRECISION * mean,
    m2: PRECISION * m2 + count * noise * (2 * deviation + noise),
    m3:
      PRECISION * (Math.abs(m3) + count * deviation ** 3) +
      count * noise * (3 * deviation ** 2 + noise ** 2),
  };
}
