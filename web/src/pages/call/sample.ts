// A sample in the charts of a call, from a period's statistics or from a single result.
import type { ListedResult } from "../../../../src/model/result.ts";
import type { AdvancedStat, Stat } from "../../../../src/model/stat.ts";
import type { Phase } from "../../../../src/model/timing.ts";
import type { Measure } from "./view.ts";

/** More would be indistinguishable: the reader chooses a location instead. */
export const MOST_LINES = 5;

/** A period in a list of statistics. */
export type StatEntry = Stat & { readonly adv_stat: AdvancedStat | null };

export interface Sample {
  /** Epoch milliseconds: the start of the period, or of the call. */
  readonly time: number;
  /** Calls that were made. */
  readonly count: number;
  /** Milliseconds. */
  readonly latency: number | null;
  readonly phases: Readonly<Record<Phase, number | null>>;
  /** Calls that did not pass. */
  readonly failed: number;
  /** Runs that were due and not made. */
  readonly missed: number;
  /** For a single result: how much of the latency may be Sonde's own, in milliseconds. */
  readonly uncertainty: number | null;
}

const NO_PHASES: Sample["phases"] = {
  dns: null,
  tcp: null,
  handshake: null,
  upload: null,
  processing: null,
  download: null,
};

const NOTHING = { count: 0, latency: null, phases: NO_PHASES, failed: 0, missed: 0 } as const;

export function sampleOfStat(entry: StatEntry, measure: Measure): Sample {
  const { adv_stat } = entry;
  const passed = adv_stat?.pass_percent ?? 100;
  return {
    time: Date.parse(entry.time),
    count: entry.count,
    latency: measured(entry, measure),
    phases: adv_stat?.phases ?? NO_PHASES,
    failed: Math.round((entry.count * (100 - passed)) / 100),
    missed: adv_stat?.missed ?? 0,
    uncertainty: null,
  };
}

function measured({ avg_latency, max_latency, adv_stat }: StatEntry, measure: Measure) {
  if (measure === "avg") return avg_latency;
  return measure === "max" ? max_latency : (adv_stat?.[measure] ?? null);
}

/** `isTimed` includes the times of calls that did not pass. */
export function sampleOfResult({ meta, timing }: ListedResult, isTimed: boolean): Sample {
  const time = Date.parse(meta.start_time ?? meta.due_time);
  if (meta.result_category === null)
    return { ...NOTHING, time, missed: meta.result === "MISSED" ? 1 : 0, uncertainty: null };
  const isPassed = meta.result_category === "PASS";
  return {
    time,
    count: 1,
    latency: isPassed || isTimed ? timing.total : null,
    phases: isPassed || isTimed ? timing : NO_PHASES,
    failed: isPassed ? 0 : 1,
    missed: 0,
    uncertainty: timing.uncertainty,
  };
}

/** Combines the counts of every call with the latencies and phases of those that passed. */
export function withTimesOf(every: readonly Sample[], passed: readonly Sample[]): Sample[] {
  const byTime = new Map(passed.map((sample) => [sample.time, sample]));
  return every.map((sample) => {
    const { latency = null, phases = NO_PHASES } = byTime.get(sample.time) ?? {};
    return { ...sample, latency, phases };
  });
}

/** Adds the periods in which every run was missed, which statistics of calls do not list. */
export function withMissed(
  samples: readonly Sample[],
  missed: readonly Pick<StatEntry, "time" | "count">[],
): Sample[] {
  const known = new Set(samples.map(({ time }) => time));
  const only = missed.flatMap(({ time, count }) => {
    const at = Date.parse(time);
    return known.has(at) ? [] : [{ ...NOTHING, time: at, missed: count, uncertainty: null }];
  });
  return [...samples, ...only].toSorted((a, b) => a.time - b.time);
}

/** Returns the value of a sample for each of `times`; null if there is none. */
export function alignTo<T>(
  times: readonly number[],
  samples: readonly Sample[],
  pick: (sample: Sample) => T,
): (T | null)[] {
  const byTime = new Map(samples.map((sample) => [sample.time, sample]));
  return times.map((time) => {
    const sample = byTime.get(time);
    return sample ? pick(sample) : null;
  });
}
