// Latency over time, by location, and its phases.
import { DAY_MS } from "../../../../src/model/periods.ts";
import { useAddress } from "../../address.ts";
import { rangeText } from "../../clock.ts";
import { nameOfLocation } from "../../locations.tsx";
import { now } from "../../now.ts";
import type { Place } from "../../places.ts";
import { DASHES, SERIES_COLOURS } from "../../parts/chart/chart-spec.ts";
import type { ChartMarks, ChartSeries, Range } from "../../parts/chart/chart-spec.ts";
import { Chart } from "../../parts/chart/chart.tsx";
import { Empty } from "../../parts/notice.tsx";
import { formatMs, percentileText } from "../../number.ts";
import { PHASE_NAMES, PHASE_ORDER } from "../../parts/phases.ts";
import { formatTime } from "../../parts/time.tsx";
import { factorText } from "./answer.ts";
import type { Change } from "./answer.ts";
import type { Series } from "./reads.ts";
import { alignTo, MOST_LINES } from "./sample.ts";
import type { Sample } from "./sample.ts";
import { MEASURES } from "./view.ts";
import type { View } from "./view.ts";

interface LatencyChartProps extends ChartsProps {
  /** Undefined: there is no clear change. */
  readonly change: Change | undefined;
  /** Lists the runs of the range; undefined: the reader may not see them. */
  readonly onRuns: (() => void) | undefined;
}

interface ChartsProps {
  readonly view: View;
  readonly series: Series;
  readonly isOld: boolean;
  /** What was chosen last; `view` and `series` may be those of before. */
  readonly asked: View;
  readonly places: readonly Place[];
  readonly onZoom: (range: Range | undefined) => void;
}

const EVERY: Readonly<Record<View["grain"], string>> = {
  RAW: "Each point is one call",
  HOUR: "Each point is an hour",
  DAY: "Each point is a day (UTC)",
  WEEK: "Each point is a week from Monday (UTC)",
  MONTH: "Each point is a month (UTC)",
  YEAR: "Each point is a year (UTC)",
};

const lineOf =
  (times: readonly number[], isRaw: boolean) =>
  (label: string, samples: readonly Sample[], at: number): ChartSeries => ({
    label,
    values: alignTo(times, samples, ({ latency }) => latency),
    colour: SERIES_COLOURS[at % SERIES_COLOURS.length] as string,
    draw: isRaw ? "points" : "line",
    ...(!isRaw && { dash: DASHES[at % DASHES.length] }),
    ...(isRaw && { below: alignTo(times, samples, ({ uncertainty }) => uncertainty) }),
  });

export function LatencyChart(props: LatencyChartProps) {
  const { view, series, isOld, asked, places, change, onZoom, onRuns } = props;
  const { all, each } = series;
  const times = all.map(({ time }) => time);
  const isRaw = view.grain === "RAW";
  const toLine = lineOf(times, isRaw);
  const of = view.location === undefined ? "All locations" : nameOfLocation(places, view.location);
  const isTimed = all.some(({ latency }) => latency !== null);
  const isApart = each.length > 1 && each.length <= MOST_LINES;
  const lines = isApart
    ? each.map(({ location, samples }, at) => toLine(nameOfLocation(places, location), samples, at))
    : [toLine(of, all, 0)];
  const sure = isRaw
    ? "The bar below a point is how much of it may be Sonde's own work."
    : measureText(view.measure);
  return (
    <section class={isOld ? "card old" : "card"} aria-busy={isOld}>
      <header>
        <h2>Latency: {isRaw ? "single calls" : MEASURES[view.measure]}</h2>
        {!view.span && (
          <span class="row">
            <span class="muted small">{zoomedText(view.range)}</span>
            {onRuns && (
              <button class="button" type="button" onClick={onRuns}>
                Show these runs
              </button>
            )}
          </span>
        )}
      </header>
      {!isTimed && isAnyMade(all) && (isAnyPassed(all) ? <NotKept /> : <NonePassed {...view} />)}
      {times.length === 0 ? (
        <NothingKept grain={view.grain} />
      ) : (
        <Chart
          title="Latency over time"
          caption={`${EVERY[view.grain]}. ${sure}`}
          x={times}
          series={lines}
          marks={marksOf(all)}
          lines={linesOf(change, view.range)}
          format={formatMs}
          range={view.range}
          asked={asked.range}
          onZoom={onZoom}
          isZoomed={asked.span === undefined}
        />
      )}
      {each.length > MOST_LINES && (
        <p class="muted small">{each.length} locations combined: choose one to see it alone.</p>
      )}
    </section>
  );
}

/** Explains a measure and its precision. */
const measureText = (measure: View["measure"]): string =>
  measure === "avg" || measure === "max"
    ? ""
    : `${percentileText(measure)} In whole milliseconds; from 256 ms on, to within 1 %.`;

const zoomedText = ([from, to]: Range): string => rangeText(formatTime(from), formatTime(to));

/** Marks the start of the change described at the top of the page. */
const linesOf = (change: Change | undefined, [from, to]: Range) =>
  change && change.since > from && change.since < to
    ? [{ x: change.since, label: `${PHASE_NAMES[change.phase].name}: ${factorText(change)}` }]
    : [];

const marksOf = (samples: readonly Sample[]): ChartMarks[] => [
  { label: "Not passed", tone: "fail", counts: samples.map(({ failed }) => failed) },
  { label: "Missed", tone: "missed", counts: samples.map(({ missed }) => missed) },
];

export function PhasesChart(props: Omit<ChartsProps, "places">) {
  const { view, series, isOld, asked, onZoom } = props;
  const { all } = series;
  const made = all.filter(({ phases }) => PHASE_ORDER.some((phase) => phases[phase] !== null));
  const reached = PHASE_ORDER.filter((phase) => made.some(({ phases }) => phases[phase] !== null));
  return (
    <section class={isOld ? "card old" : "card"} aria-busy={isOld}>
      <h2>Phases</h2>
      {all.length === 0 ? (
        <NothingKept grain={view.grain} />
      ) : reached.length === 0 ? (
        <NoTimes type={view.type} isMade={isAnyMade(all)} />
      ) : (
        <Chart
          title="Phases over time"
          caption="Averages over the calls that reached each phase, stacked."
          x={made.map(({ time }) => time)}
          series={reached.map((phase) => ({
            label: PHASE_NAMES[phase].name,
            values: made.map(({ phases }) => phases[phase]),
            colour: `--${phase}`,
            draw: "bars",
            phase,
          }))}
          isStacked
          format={formatMs}
          range={view.range}
          asked={asked.range}
          onZoom={onZoom}
          isZoomed={asked.span === undefined}
        />
      )}
    </section>
  );
}

export const NoCalls = ({ range }: Pick<View, "range">) => (
  <Empty title="No calls in this range">
    <p>
      {range[1] < now() - DAY_MS
        ? "Choose a longer range: days are kept for longer than hours."
        : "Choose a longer range, or run the call now."}
    </p>
  </Empty>
);

const isAnyMade = (samples: readonly Sample[]): boolean => samples.some(({ count }) => count > 0);

const isAnyPassed = (samples: readonly Sample[]): boolean =>
  samples.some(({ count, failed }) => count > failed);

/** Shown if calls passed, but only their average and their extremes are known. */
const NotKept = () => (
  <p class="notice">
    The percentiles of this range are no longer kept: choose the average or the slowest.
  </p>
);

/** Shown where statistics have runs, but the chart has nothing. */
const NothingKept = ({ grain }: Pick<View, "grain">) =>
  grain === "RAW" ? (
    <p class="muted">No single run of this range is kept: choose a longer range.</p>
  ) : (
    <p class="muted">No call was made in this range.</p>
  );

interface NoTimesProps extends Pick<View, "type"> {
  /** Whether any call was made. */
  readonly isMade: boolean;
}

/** Shown instead of a chart of times, in a range with runs. */
export function NoTimes({ type, isMade }: NoTimesProps) {
  if (!isMade) return <p class="muted">No call was made in this range.</p>;
  if (type !== "ALL") return <NonePassed type={type} />;
  return <p class="muted">The calls in this range ended before anything was timed.</p>;
}

/** Shown if calls were made, but none of them passed. */
function NonePassed({ type }: Pick<View, "type">) {
  const [, change] = useAddress();
  if (type === "ALL") return null;
  return (
    <div class="notice warn">
      <span>No call passed in this range.</span>
      <button class="button" type="button" onClick={() => change({ calls: "all" })}>
        Show every call made
      </button>
    </div>
  );
}
