// The distribution of latencies, with outliers, and how calls ended.
import { categoryOf } from "../../../../src/model/result.ts";
import type { Bucket } from "../../../../src/model/histogram.ts";
import { rangeText } from "../../clock.ts";
import { nameOfLocation } from "../../locations.tsx";
import type { Place } from "../../places.ts";
import { Chart } from "../../parts/chart/chart.tsx";
import { formatCount, formatMs, formatPercent } from "../../number.ts";
import type { Last } from "../../queries.ts";
import { State } from "../../parts/state.tsx";
import { formatTime } from "../../parts/time.tsx";
import { wordOf } from "../../periods.ts";
import { toneOf } from "../../tone.ts";
import { areEven, binsOf, countsFrom, placeOf, wholeFrom } from "./bins.ts";
import { NoCalls, NoTimes } from "./latency.tsx";
import type { HistogramAnswer } from "./reads.ts";
import type { View } from "./view.ts";

type Counted = HistogramAnswer & Pick<View, "type" | "range">;

interface DistributionProps extends Last<Counted> {
  readonly places: readonly Place[];
}

export function HistogramChart({ value, isOld, places }: DistributionProps) {
  const { buckets, locations, results, type } = value;
  // A bucket that begins below the limit counts as below it, even if its calls were longer.
  const fences = locations.flatMap(({ location_id, outlier_from, outliers }) =>
    outlier_from === null || outliers === null
      ? []
      : [{ location_id, outlier_from: wholeFrom(outlier_from, buckets ?? []), outliers }],
  );
  const bins = binsOf(buckets ?? []);
  // From the highest limit on, a call that passed is an outlier at every location. Only these are
  // outliers: the buckets of every call do not show which passed.
  const isMarked = type === "COMPLETE" && fences.some(({ outliers }) => outliers > 0);
  const highest = Math.max(...fences.map(({ outlier_from }) => outlier_from));
  const outliers = countsFrom(highest, buckets ?? [], bins);
  const edge = (place: number): string =>
    formatMs(bins[Math.floor(place)]?.from ?? bins.at(-1)?.to ?? 0);
  return (
    <section class={isOld ? "card old" : "card"} aria-busy={isOld}>
      <header>
        <h2>Distribution</h2>
        <WholePeriods {...value} />
      </header>
      {buckets === null && <p class="muted">The counters for this range have been removed.</p>}
      {buckets?.length === 0 && (
        <NoTimes type={type} isMade={results.some(({ result }) => categoryOf(result) !== null)} />
      )}
      {bins.length > 0 && (
        <Chart
          title="Calls by latency"
          caption={captionOf(bins, isMarked ? fences.length : 0)}
          x={bins.map((_, at) => at)}
          isTime={false}
          formatX={edge}
          series={[
            {
              label: "Calls",
              values: bins.map(({ count }) => count),
              colour: "--accent",
              draw: "bars",
            },
          ]}
          marks={isMarked ? [{ label: "Outliers", tone: "warn", counts: outliers }] : []}
          lines={
            fences.length === 1 && highest < (bins.at(-1)?.to ?? 0)
              ? [{ x: placeOf(highest, bins), label: `Outliers from ${formatMs(highest)}` }]
              : []
          }
          format={(count) => formatCount(count)}
          isCount
          range={[0, bins.length]}
          axis={JSON.stringify(bins, ["from", "to"])}
        />
      )}
      {fences.length > 0 && <Fences fences={fences} places={places} />}
    </section>
  );
}

/** Says which time is counted, if that is more than the range. */
function WholePeriods({ meta: { kind, time, until }, range: [from, to] }: Counted) {
  if (Date.parse(time) >= from && Date.parse(until) <= to) return null;
  return (
    <span class="muted small">
      Whole {wordOf(kind)}s: {rangeText(formatTime(time), formatTime(until))}
    </span>
  );
}

interface Fence {
  readonly location_id: string;
  readonly outlier_from: number;
  readonly outliers: number;
}

/** `marked`: the number of locations whose outliers are marked. */
const captionOf = (bins: readonly Bucket[], marked: number): string =>
  [
    "Calls at each latency.",
    ...(areEven(bins) ? [] : ["Bars are wider, in milliseconds, where calls are slow."]),
    ...(marked === 1 ? ["A triangle marks outliers."] : []),
    ...(marked > 1 ? ["A triangle marks what is an outlier at each location."] : []),
  ].join(" ");

interface FencesProps {
  readonly fences: readonly Fence[];
  readonly places: readonly Place[];
}

const Fences = ({ fences, places }: FencesProps) => (
  <ul class="plain small muted">
    {fences.map(({ location_id, outlier_from, outliers }) => (
      <li key={location_id}>
        {nameOfLocation(places, location_id)}: {formatCount(outliers)}{" "}
        {outliers === 1 ? "outlier" : "outliers"} of {formatMs(outlier_from)} or more
      </li>
    ))}
  </ul>
);

export function ResultCodes({ value, isOld }: Last<Counted>) {
  const { results } = value;
  const total = results.reduce((sum, { count }) => sum + count, 0);
  return (
    <section class={isOld ? "card old" : "card"} aria-busy={isOld}>
      <header>
        <h2>How calls ended</h2>
        <WholePeriods {...value} />
      </header>
      {total === 0 ? (
        <NoCalls {...value} />
      ) : (
        <table class="codes" aria-label="How calls ended">
          <thead>
            <tr>
              <th scope="col">Result</th>
              <th scope="col" class="number">
                Runs
              </th>
              <th scope="col" class="number">
                Share
              </th>
            </tr>
          </thead>
          <tbody>
            {results.map(({ result, count }) => (
              <tr key={result}>
                <th scope="row">
                  <State tone={toneOf(result, categoryOf(result))} word={result} />
                </th>
                <td class="number">{formatCount(count)}</td>
                <td class="number">{formatPercent((100 * count) / total)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
