// The rows of a group side by side, with the totals of all of them.
import { useState } from "preact/hooks";
import { useFocusAfter } from "../../focus.ts";
import { nameOfLocation, useLocations } from "../../locations.tsx";
import { formatCount, formatMs, formatPercent } from "../../number.ts";
import { PhaseBar, PhaseLegend, sumOfPhases } from "../../parts/phase-bar.tsx";
import { usePrinting } from "../../parts/printing.tsx";
import { ScrollRegion } from "../../parts/scroll-region.tsx";
import { marksOf } from "../../reports.ts";
import type {
  Mark,
  MeasureName,
  ReportEntry,
  ReportType,
  StatGroup,
  ReportPeriod,
} from "../../reports.ts";

/** How many rows are drawn until the reader asks for all, or prints them. */
const SHOWN = 100;
const NOTHING: ReportEntry = { stat: null, adv_stat: null };

interface ReportGroupProps {
  readonly group: StatGroup;
  readonly period: ReportPeriod;
  /** Whether another period was chosen, and is not read yet. */
  readonly isOld: boolean;
}

export function ReportGroup({ group, period, isOld }: ReportGroupProps) {
  const { name, rows, totals } = group;
  const places = useLocations();
  const [isWhole, setWhole] = useState(rows.length <= SHOWN);
  useFocusAfter(!isWhole);
  const isPrinting = usePrinting();
  const entries = rows.map(({ stats }) => stats[0] ?? NOTHING);
  const marks = marksOf(entries, period.by);
  const longest = Math.max(
    1,
    ...[...entries, ...totals].map(({ adv_stat }) => longestOf(adv_stat)),
  );
  const common = { type: period.type, by: period.by, longest };
  return (
    <section class="card">
      <h2>{name}</h2>
      {rows.length === 0 ? (
        <p class="muted">This group has no rows that you may see.</p>
      ) : (
        <>
          <ScrollRegion label={`Rows of ${name}`} isOld={isOld}>
            <table class="side-by-side blocks">
              <Head type={period.type} by={period.by} />
              <tbody>
                {rows.slice(0, isWhole || isPrinting ? undefined : SHOWN).map((row, at) => (
                  <tr key={at}>
                    <th scope="row" class="call whole">
                      <a href={`calls/${row.call_id}`}>{row.name}</a>
                      <span class="muted">{nameOfLocation(places, row.location_id)}</span>
                      <Marked mark={marks[at]} />
                    </th>
                    <Numbers {...common} entry={entries[at] ?? NOTHING} />
                  </tr>
                ))}
              </tbody>
              {rows.length > 1 && (
                <tfoot>
                  <tr>
                    <th scope="row" class="whole">
                      All rows
                    </th>
                    <Numbers {...common} entry={totals[0] ?? NOTHING} />
                  </tr>
                </tfoot>
              )}
            </table>
          </ScrollRegion>
          {!isWhole && (
            <button class="button no-print" type="button" onClick={() => setWhole(true)}>
              Show all {formatCount(rows.length)} rows
            </button>
          )}
          <PhaseLegend />
        </>
      )}
    </section>
  );
}

const longestOf = (stat: ReportEntry["adv_stat"]): number => (stat ? sumOfPhases(stat.phases) : 0);

const Marked = ({ mark }: { readonly mark: Mark | undefined }) =>
  mark && (
    <span class={`mark ${mark}`}>
      <span aria-hidden="true">{mark === "best" ? "▲" : "▼"}</span> {mark}
    </span>
  );

interface ColumnsProps {
  readonly type: ReportType;
  readonly by: MeasureName;
}

interface Column {
  readonly name: string;
  readonly of: (entry: ReportEntry) => string;
  /** Only shown for this type. */
  readonly type?: ReportType;
  /** The measure that it shows, if rows can be compared by it. */
  readonly by?: MeasureName;
}

const countOf = ({ stat, adv_stat }: ReportEntry): string =>
  formatCount(adv_stat ? (stat?.count ?? 0) : null);

const COLUMNS: readonly Column[] = [
  { name: "Calls", of: countOf, type: "ALL" },
  { name: "Passed calls", of: countOf, type: "COMPLETE" },
  {
    name: "Pass percent",
    of: ({ adv_stat }) => formatPercent(adv_stat?.pass_percent),
    by: "pass_percent",
  },
  { name: "Missed", of: ({ adv_stat }) => formatCount(adv_stat?.missed) },
  { name: "Min", of: ({ stat }) => formatMs(stat?.min_latency), type: "COMPLETE" },
  { name: "Average", of: ({ stat }) => formatMs(stat?.avg_latency), by: "avg_latency" },
  ...(["p50", "p95", "p99"] as const).map((by) => ({
    name: by,
    of: ({ adv_stat }: ReportEntry) => formatMs(adv_stat?.[by]),
    by,
  })),
  { name: "Max", of: ({ stat }) => formatMs(stat?.max_latency) },
];

const columnsOf = (shown: ReportType): readonly Column[] =>
  COLUMNS.filter(({ type = shown }) => type === shown);

const classOf = (column: Column, by: MeasureName): string =>
  column.by === by ? "number by" : "number";

const Head = ({ type, by }: ColumnsProps) => (
  <thead>
    <tr>
      <th scope="col">Call, location</th>
      {columnsOf(type).map((column) => (
        <th key={column.name} scope="col" class={classOf(column, by)}>
          {column.name}
        </th>
      ))}
      <th scope="col">Phases, on average</th>
    </tr>
  </thead>
);

interface NumbersProps extends ColumnsProps {
  readonly entry: ReportEntry;
  /** The longest sum of phases of any row or of all rows, in milliseconds. */
  readonly longest: number;
}

function Numbers({ entry, type, by, longest }: NumbersProps) {
  const { stat, adv_stat } = entry;
  return (
    <>
      {columnsOf(type).map((column) => (
        <td key={column.name} class={classOf(column, by)} data-label={column.name}>
          {column.of(entry)}
        </td>
      ))}
      <td class="whole">
        {adv_stat && stat ? (
          <PhaseBar phases={adv_stat.phases} end={longest} />
        ) : (
          <span class="muted">{adv_stat ? "no such calls" : "no call made"}</span>
        )}
      </td>
    </>
  );
}
