// The table of a call's statistics by period, for any kind of period and type of result.
import { useState } from "preact/hooks";
import { PERIOD_KINDS } from "../../../../src/model/periods.ts";
import type { PeriodKind } from "../../../../src/model/periods.ts";
import { useAddress } from "../../address.ts";
import { urlOf, withQuery } from "../../api.ts";
import { SelectField } from "../../parts/field.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { Fault, Loading } from "../../parts/notice.tsx";
import { formatCount, formatMs, formatPercent } from "../../number.ts";
import { formatTime, isLocalTime } from "../../parts/time.tsx";
import { ScrollRegion } from "../../parts/scroll-region.tsx";
import { useLast } from "../../queries.ts";
import { OUTCOMES } from "../../advice.ts";
import { statsPath, useStats } from "./reads.ts";
import type { StatEntry } from "./sample.ts";

const SHOWN_AT_FIRST = 14;
const MOST = 1000;

const KINDS = PERIOD_KINDS.map((value) => ({
  value,
  name: value.charAt(0) + value.slice(1).toLowerCase(),
}));
const TYPES = ["ALL", ...Object.keys(OUTCOMES)].map((value) => ({
  value,
  name: value === "ALL" ? "Any: every call made" : value,
}));

type Column = readonly [name: string, of: (entry: StatEntry) => string];

/** What was counted may be runs that were never made, such as MISSED ones. */
const RUNS: readonly Column[] = [
  ["Count", ({ count }) => formatCount(count)],
  ["Passed", ({ adv_stat }) => formatPercent(adv_stat?.pass_percent)],
  ["Missed", ({ adv_stat }) => formatCount(adv_stat?.missed)],
];

const LATENCIES: readonly Column[] = [
  ["Average", ({ avg_latency }) => formatMs(avg_latency)],
  ["p50", ({ adv_stat }) => formatMs(adv_stat?.p50)],
  ["p75", ({ adv_stat }) => formatMs(adv_stat?.p75)],
  ["p90", ({ adv_stat }) => formatMs(adv_stat?.p90)],
  ["p95", ({ adv_stat }) => formatMs(adv_stat?.p95)],
  ["p99", ({ adv_stat }) => formatMs(adv_stat?.p99)],
  ["Slowest", ({ max_latency }) => formatMs(max_latency)],
];

/** Only for calls that passed. */
const OF_PASSED: readonly Column[] = [
  ["Fastest", ({ min_latency }) => formatMs(min_latency)],
  ["Standard deviation", ({ standard_deviation }) => formatMs(standard_deviation)],
  ["Skewness", ({ skewness }) => skewness?.toFixed(2) ?? "–"],
];

interface StatsTableProps {
  readonly id: string;
  readonly location: string | undefined;
}

export function StatsTable({ id, location }: StatsTableProps) {
  const [address, change] = useAddress();
  const kind = PERIOD_KINDS.find((one) => one === address["stats_period"]) ?? "DAY";
  const type = TYPES.find(({ value }) => value === address["stats_result"])?.value ?? "ALL";
  const [limit, setLimit] = useState(SHOWN_AT_FIRST);
  const of = { kind, type, location_id: location };
  const { data, error, refetch } = useStats(id, statsPath(id, "before", { ...of, limit }), "table");
  const asked = JSON.stringify(of);
  const last = useLast(id, asked, data && { ...data, ...of, limit }, error);
  const shown = last?.isOld && last.value.stats.length === 0 ? undefined : last?.value;
  return (
    <section class="card">
      <header>
        <h2>Statistics</h2>
        <a class="button no-print" href={urlOf(withQuery(`calls/${id}/stats/export`, of))} download>
          Download as CSV<span class="visually-hidden">: statistics</span>
        </a>
      </header>
      <div class="fields no-print">
        <SelectField
          label="Period"
          value={kind}
          choices={KINDS}
          onChange={(stats_period) => change({ stats_period })}
        />
        <SelectField
          label="Result of the runs"
          value={type}
          choices={TYPES}
          onChange={(stats_result) => change({ stats_result })}
        />
      </div>
      <Fault error={error} retry={refetch} />
      {!shown && !error && <Loading what="statistics" />}
      {shown && <Periods {...shown} isOld={last?.isOld ?? false} />}
      <MoreButton
        list={{
          hasMore: shown !== undefined && shown.stats.length === shown.limit && shown.limit < MOST,
          isReading: !data,
          readMore: () => setLimit(Math.min(limit * 4, MOST)),
        }}
      />
    </section>
  );
}

interface PeriodsProps {
  readonly stats: readonly StatEntry[];
  readonly kind: PeriodKind;
  readonly type: string;
  /** Whether something else was chosen, and is not read yet. */
  readonly isOld: boolean;
}

function Periods({ stats, kind, type, isOld }: PeriodsProps) {
  const latencies = type === "COMPLETE" ? [...LATENCIES, ...OF_PASSED] : LATENCIES;
  const columns = [...RUNS, ...latencies];
  if (stats.length === 0) return <p class="muted">No matching runs yet.</p>;
  return (
    <ScrollRegion label="Statistics by period" isOld={isOld}>
      <table class="stats blocks">
        <thead>
          <tr class="groups">
            <td />
            <th scope="colgroup" colSpan={RUNS.length}>
              Runs
            </th>
            <th scope="colgroup" colSpan={latencies.length}>
              Latency
            </th>
          </tr>
          <tr>
            <th scope="col">{HEADS[kind]}</th>
            {columns.map(([name]) => (
              <th scope="col" class="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {stats.map((entry) => (
            <tr key={entry.time}>
              <th scope="row" class="nowrap whole">
                {periodText(entry.time, kind)}
              </th>
              {columns.map(([name, of]) => (
                <td key={name} class="number" data-label={name}>
                  {of(entry)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

const HEADS: Readonly<Record<PeriodKind, string>> = {
  HOUR: "Hour from",
  DAY: "Day (UTC)",
  WEEK: "Week from (UTC)",
  MONTH: "Month (UTC)",
  YEAR: "Year (UTC)",
};

/** Periods are on UTC boundaries: only hours are shown in local time. */
function periodText(time: string, kind: PeriodKind): string {
  if (kind === "YEAR") return time.slice(0, 4);
  if (kind === "MONTH") return time.slice(0, 7);
  if (kind !== "HOUR") return time.slice(0, 10);
  return formatTime(time, isLocalTime.value).replace(":00:00", ":00");
}
