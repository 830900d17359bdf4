// The values of a chart as a table, rendered when it is opened.
import { useState } from "preact/hooks";
import { nameOfX } from "./chart-legend.tsx";
import type { ChartSpec, Range } from "./chart-spec.ts";
import { formatCount } from "../../number.ts";
import { ScrollRegion } from "../scroll-region.tsx";

interface ChartTableProps {
  readonly title: string;
  readonly spec: ChartSpec;
  readonly range: Range;
}

export function ChartTable({ title, spec, range }: ChartTableProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="no-print" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        Show as a table<span class="visually-hidden">: {title}</span>
      </summary>
      {isOpen && (
        <ScrollRegion label={`${title}, as a table`} isTall>
          <Values spec={spec} range={range} />
        </ScrollRegion>
      )}
    </details>
  );
}

function Values({ spec, range: [from, to] }: Omit<ChartTableProps, "title">) {
  const { x, series, marks = [], isTime = true, format } = spec;
  const inRange = [...x.entries()].filter(([, value]) => value >= from && value <= to);
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{isTime ? "Time" : "From"}</th>
          {[...series, ...marks].map(({ label }) => (
            <th scope="col" class="number">
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {inRange.map(([at, value]) => (
          <tr key={value}>
            <th scope="row">{nameOfX(spec, value)}</th>
            {series.map(({ values }) => (
              <td class="number">{values[at] == null ? "–" : format(values[at])}</td>
            ))}
            {marks.map(({ counts }) => (
              <td class="number">{formatCount(counts[at] ?? 0)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
