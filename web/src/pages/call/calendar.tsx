// A calendar of the last weeks: a cell for each day shows how it went, and links to it.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import "../../styles/calendar.css";
import "../../styles/phases.css";
import { DAY_MS, periodStart, WEEK_MS } from "../../../../src/model/periods.ts";
import { now } from "../../now.ts";
import { dayOf } from "../../parts/chart/chart-time.ts";
import { Fault, Loading } from "../../parts/notice.tsx";
import { formatCount, formatPercent } from "../../number.ts";
import { StateShape } from "../../parts/state.tsx";
import type { Tone } from "../../tone.ts";
import { shortNameOfPeriod } from "../../periods.ts";
import { toneOfDay } from "./day-tone.ts";
import type { Day } from "./day-tone.ts";
import { statsPath, useStats } from "./reads.ts";

const WEEKS = 13;
const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"] as const;

const WORDS: Readonly<Record<Tone, string>> = {
  pass: "all passed",
  warn: "98 % or more passed",
  fail: "less than 98 % passed",
  missed: "runs missed",
  none: "no calls",
};

interface CalendarProps {
  readonly id: string;
  readonly location: string | undefined;
  readonly onDay: (from: number, to: number) => void;
}

export function Calendar({ id, location, onDay }: CalendarProps) {
  const first = periodStart("WEEK", now()) - (WEEKS - 1) * WEEK_MS;
  const query = { kind: "DAY", time: new Date(first).toISOString(), location_id: location };
  const made = useStats(id, statsPath(id, "since", { ...query, limit: WEEKS * 7 }), "calendar");
  const missed = useStats(
    id,
    statsPath(id, "since", { ...query, type: "MISSED", limit: WEEKS * 7 }),
    "calendar",
  );
  const byDay = new Map(made.data?.stats.map((entry) => [Date.parse(entry.time), entry]));
  const missedOn = new Map(missed.data?.stats.map(({ time, count }) => [Date.parse(time), count]));
  const days = Array.from({ length: WEEKS * 7 }, (_, n): Day => {
    const time = first + n * DAY_MS;
    const entry = byDay.get(time);
    return {
      time,
      calls: entry?.count ?? 0,
      passPercent: entry?.adv_stat?.pass_percent ?? null,
      missed: missedOn.get(time) ?? 0,
    };
  });
  const isRead = made.data && missed.data;
  const error = made.error ?? missed.error;
  return (
    <section class="card">
      <header>
        <h2>Days</h2>
        <span class="muted small">in UTC</span>
      </header>
      <Fault error={error} retry={() => Promise.all([made.refetch(), missed.refetch()])} />
      {!error && (
        <div class="calendar-place">
          {isRead && <Grid days={days.filter(({ time }) => time <= now())} onDay={onDay} />}
          {!isRead && <Loading what="days" />}
        </div>
      )}
      <ul class="legend">
        {(["pass", "warn", "fail", "missed", "none"] as const).map((tone) => (
          <li key={tone}>
            <span class={`cell ${tone}`} aria-hidden="true">
              <StateShape tone={tone} />
            </span>
            {WORDS[tone]}
          </li>
        ))}
      </ul>
    </section>
  );
}

const KEYS: Readonly<Record<string, number>> = {
  ArrowLeft: -7,
  ArrowRight: 7,
  ArrowUp: -1,
  ArrowDown: 1,
};

function Grid({
  days,
  onDay,
}: {
  readonly days: readonly Day[];
  readonly onDay: CalendarProps["onDay"];
}) {
  const table = useRef<HTMLTableElement>(null);
  const [chosen, setChosen] = useState<number>();
  const current = chosen ?? days.length - 1;
  const press = (event: KeyboardEvent): void => {
    const step = KEYS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = Math.min(Math.max(current + step, 0), days.length - 1);
    table.current?.querySelector<HTMLElement>(`[data-day="${next}"]`)?.focus();
  };
  useLayoutEffect(() => {
    // If there is too little room, show the newest.
    const box = table.current?.parentElement;
    if (box) box.scrollLeft = box.scrollWidth;
  }, []);
  const weeks = Math.ceil(days.length / 7);
  return (
    <div class="scroll-x">
      <table class="calendar" ref={table} role="grid" aria-label="Days, by week" onKeyDown={press}>
        <Months days={days} />
        <tbody>
          {WEEKDAYS.map((weekday, row) => (
            <tr key={weekday}>
              <th scope="row">{weekday}</th>
              {Array.from({ length: weeks }, (_, week) => {
                const at = week * 7 + row;
                const day = days[at];
                return (
                  <td key={week} role="gridcell">
                    {day && (
                      <DayCell
                        day={day}
                        at={at}
                        isCurrent={at === current}
                        onFocus={() => setChosen(at)}
                        onChoose={() => onDay(day.time, day.time + DAY_MS)}
                      />
                    )}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Names each month above the week in which it begins. For screen readers, the days say it. */
function Months({ days }: { readonly days: readonly Day[] }) {
  const ends = days.filter((_, at) => at % 7 === 6 || at === days.length - 1);
  const months = ends.map(({ time }) => shortNameOfPeriod("MONTH", time));
  return (
    <thead aria-hidden="true">
      <tr>
        <th />
        {months.map((month, week) => (
          <td key={week}>{month === months[week - 1] ? "" : month}</td>
        ))}
      </tr>
    </thead>
  );
}

interface DayCellProps {
  readonly day: Day;
  readonly at: number;
  readonly isCurrent: boolean;
  readonly onFocus: () => void;
  readonly onChoose: () => void;
}

function DayCell({ day, at, isCurrent, onFocus, onChoose }: DayCellProps) {
  const tone = toneOfDay(day);
  const text = textOf(day);
  return (
    <button
      class={`cell ${tone}`}
      type="button"
      data-day={at}
      tabIndex={isCurrent ? 0 : -1}
      aria-label={text}
      title={text}
      onFocus={onFocus}
      onClick={onChoose}
    >
      <StateShape tone={tone} />
    </button>
  );
}

function textOf({ time, calls, passPercent, missed }: Day): string {
  const day = dayOf(time, false);
  const lost = missed === 0 ? "" : `, ${formatCount(missed)} missed`;
  if (calls === 0) return `${day}: no calls${lost}`;
  return `${day}: ${formatPercent(passPercent)} of ${formatCount(calls)} calls passed${lost}`;
}
