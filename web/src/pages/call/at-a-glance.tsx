// A call at a glance: which phase is slowest, since when, where, and how sure that is.
import { DAY_MS } from "../../../../src/model/periods.ts";
import type { ListedResult } from "../../../../src/model/result.ts";
import { withQuery } from "../../api.ts";
import type { CallNow } from "../../call-overview.ts";
import { nameOfLocation } from "../../locations.tsx";
import type { Place } from "../../places.ts";
import { now } from "../../now.ts";
import { shortTime } from "../../parts/chart/chart-time.ts";
import { Fact } from "../../parts/fact.tsx";
import { Loading } from "../../parts/notice.tsx";
import { formatCount, formatMs, formatPercent } from "../../number.ts";
import { PHASE_NAMES } from "../../parts/phases.ts";
import { StateShape } from "../../parts/state.tsx";
import { toneOf } from "../../tone.ts";
import { factorText } from "./answer.ts";
import type { Change, Slowest } from "./answer.ts";
import { CallScore } from "./call-score.tsx";
import type { DayCounts } from "./day-counts.ts";
import { LastRun, unmadeOf } from "./last-run.tsx";
import { useDaysAt, useHistogram } from "./reads.ts";
import { averagesOf, DAYS_BEFORE, useRecent } from "./recent.ts";
import { MOST_LINES } from "./sample.ts";
import { useTrouble } from "./trouble-now.ts";
import { troubleText, troubleWhere } from "./trouble.ts";
import type { Trouble } from "./trouble.ts";
import { zoomQuery } from "./view.ts";
import { whereChanged, whereSlow } from "./where.ts";

interface AtAGlanceProps {
  readonly id: string;
  readonly places: readonly Place[];
  /** The newest results; undefined: not read yet. */
  readonly latest: readonly ListedResult[] | undefined;
  /** The call's state at its locations; undefined: not read yet; null: not known. */
  readonly state: CallNow | null | undefined;
  /** Whether simulated results for the time before may still be arriving. */
  readonly isGrowing: boolean;
  /** Whether the signed-in user may run and deploy the call. */
  readonly isRunnable: boolean;
}

export function AtAGlance({ id, places, latest, state, isGrowing, isRunnable }: AtAGlanceProps) {
  const { end, hours, day, slowest, history, change } = useRecent(id);
  const { results, trouble } = useTrouble(id, latest, state);
  const spread = useHistogram(id, {
    grain: "HOUR",
    type: "ALL",
    location: undefined,
    range: [end - DAY_MS, end],
  });
  const measured = spread.data?.locations.map(({ location_id }) => location_id) ?? [];
  const passing = spread.data?.locations.filter(({ median }) => median !== null) ?? [];
  const isCompared = change !== undefined && measured.length > 1 && measured.length <= MOST_LINES;
  const compared = isCompared ? measured : [];
  const daysAt = useDaysAt(id, compared, DAYS_BEFORE, history.type).map(({ location, stats }) => ({
    location,
    days: averagesOf(stats).toReversed(),
  }));
  const nameOf = (location: string): string => nameOfLocation(places, location);
  if (!hours.data) return hours.error ? null : <ReadingYet />;
  if (!day || history.days.isPending || !latest || state === undefined) return <ReadingYet />;
  if (day.made === 0 && !trouble)
    return <NothingLately {...{ results, state, isGrowing, isRunnable }} />;
  const unmade = trouble ? undefined : unmadeOf(state, results);
  const isTimed = slowest && (day.passed > 0 || saysMuch(slowest));
  const where = (change && whereChanged(change, daysAt, nameOf)) ?? whereSlow(spread.data, nameOf);
  const whereText = spread.isPending ? <span class="muted">Loading …</span> : (where ?? "–");
  return (
    <section class="card glance" aria-label="At a glance">
      {trouble && <Troubled {...{ trouble, results, day, nameOf }} />}
      {!trouble && day.passed === 0 && <p class="answer">No call passed in the last 24 hours.</p>}
      {unmade && <LastRun last={unmade.last} nameOf={unmade.isPartial ? nameOf : undefined} />}
      {isTimed && (
        <p class={trouble || unmade || day.passed === 0 ? "after" : "answer"}>
          <Answer {...{ id, slowest, day, change, isGrowing }} days={history.days.data?.stats} />
        </p>
      )}
      <dl class="facts">
        <Fact name="Where">
          {trouble ? troubleWhere(trouble, nameOf) : whereText}
          {trouble && where !== undefined && passing.length > 1 && (
            <div class="muted small">Latency of calls that passed: {lowered(where)}</div>
          )}
        </Fact>
        <Fact name="Confidence">{sureText(day.made, latest, change)}</Fact>
        <Fact name="Passed in 24 hours">{passedText(day)}</Fact>
        <Fact name="Latest weekly score">
          <CallScore id={id} />
        </Fact>
      </dl>
    </section>
  );
}

const lowered = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

/** Where no call passed, the phases before the one that failed say little. */
const saysMuch = ({ isWhole, totalMs }: Slowest): boolean => isWhole || totalMs !== null;

interface TroubledProps {
  readonly trouble: Trouble;
  /** The newest results, in which the trouble was found. */
  readonly results: readonly ListedResult[];
  readonly day: DayCounts;
  readonly nameOf: (location: string) => string;
}

function Troubled({ trouble, results, day, nameOf }: TroubledProps) {
  const { last } = trouble;
  const tone = toneOf(last.result, last.result_category);
  const id = results.find(({ meta }) => meta === last)?.id;
  return (
    <p class="answer row keep">
      <span class={`state ${tone}`}>
        <StateShape tone={tone} />
      </span>
      <span>
        <strong>{troubleText(trouble, day, { nameOf, timeText: minuteText })}</strong>{" "}
        <a href={`results/${id}`}>Open the last result</a>
      </span>
    </p>
  );
}

const minuteText = (ms: number): string => shortTime(ms - (ms % 60_000), now());

const ReadingYet = () => (
  <section class="card glance" aria-label="At a glance">
    <Loading what="the last 24 hours" />
  </section>
);

function Answer({
  id,
  slowest: { phase, ms, totalMs },
  day,
  change,
  days,
  isGrowing,
}: {
  readonly id: string;
  readonly slowest: Slowest;
  readonly day: DayCounts;
  readonly change: Change | undefined;
  /** Those of the past that were compared; undefined: not read. */
  readonly days: readonly unknown[] | undefined;
  readonly isGrowing: boolean;
}) {
  const { name, meaning } = PHASE_NAMES[phase];
  return (
    <>
      <strong title={meaning}>{name}</strong> takes <strong>{formatMs(ms)}</strong>
      {totalMs !== null && ` of ${formatMs(totalMs)}`}, on average over 24 hours{whichText(day)}.{" "}
      {change ? (
        <>
          Since{" "}
          <a href={aroundPath(id, change)} title="Show the two weeks before and after">
            {shortTime(change.since, now())}
          </a>{" "}
          it takes <strong>{factorText(change)}</strong>: {formatMs(change.after)} at the median
          day, {formatMs(change.before)} before.
        </>
      ) : (
        historyText(days?.length, isGrowing)
      )}
    </>
  );
}

const whichText = ({ made, passed }: DayCounts): string =>
  passed > 0 && passed < made ? ", of calls that passed" : "";

const aroundPath = (id: string, { since }: Change): string =>
  withQuery(`calls/${id}`, zoomQuery([since - 14 * DAY_MS, since + 14 * DAY_MS], now()));

function historyText(days: number | undefined, isGrowing: boolean): string {
  if (days === undefined) return "";
  if (isGrowing && days > 1)
    return `No clear change in ${days} days; more history is being written.`;
  return days > 3 ? `No clear change in ${days} days.` : "No history to compare with yet.";
}

function sureText(
  calls: number,
  latest: readonly ListedResult[] | undefined,
  change: Change | undefined,
): string {
  const lately = `${formatCount(calls)} ${calls === 1 ? "call" : "calls"} made in 24 hours`;
  const days =
    change && `${change.periods.before} days before the change, ${change.periods.since} since`;
  const measured = days ? `${lately}; ${days}` : lately;
  const own = (latest ?? []).flatMap(({ timing }) => timing.uncertainty ?? []);
  if (own.length === 0) return measured;
  const most = formatMs(Math.max(...own));
  const only = calls === 1 ? "it" : "the last";
  const which = own.length === 1 ? only : `any of the last ${own.length}`;
  return `${measured}; at most ${most} of ${which} may be Sonde's own work`;
}

function passedText({ made, passed, missed }: DayCounts): string {
  const share = formatPercent(made === 0 ? null : (100 * passed) / made);
  return missed === 0 ? share : `${share}; ${formatCount(missed)} missed`;
}

interface NothingLatelyProps extends Pick<AtAGlanceProps, "state" | "isGrowing" | "isRunnable"> {
  readonly results: readonly ListedResult[];
}

function NothingLately({ results, state, isGrowing, isRunnable }: NothingLatelyProps) {
  const [last] = results;
  const advice = state?.is_deployed
    ? "It is deployed: it has not run yet."
    : "Run it now, or deploy it to run on a schedule.";
  return (
    <section class="card glance" aria-label="At a glance">
      <p class="answer">No call was made in the last 24 hours.</p>
      {isRunnable && !last && <p class="muted">{advice}</p>}
      {isGrowing && <p class="muted">History is still being written and will appear here.</p>}
      {last && <LastRun last={last} />}
    </section>
  );
}
