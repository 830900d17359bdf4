// A chart over time or over another axis. It can be zoomed by dragging, buttons and keys, and read
// as a table.
import { useEffect, useRef, useState } from "preact/hooks";
import "../../styles/chart.css";
import { ChartLegend } from "./chart-legend.tsx";
import type { ChartSpec, Range } from "./chart-spec.ts";
import { ChartTable } from "./chart-table.tsx";
import type { Plot, PlotEvents } from "./plot.ts";
import { isLocalTime, zoneName } from "../time.tsx";
import { ZoomButtons } from "./zoom-buttons.tsx";

export interface ChartProps extends ChartSpec {
  readonly title: string;
  /** What it shows, in a sentence. */
  readonly caption?: string;
  /** The whole x axis. */
  readonly range: Range;
  /** The range that was asked for, which the buttons change; default: `range`. */
  readonly asked?: Range;
  /** If given, the caller applies the zoom to `range`; undefined: back to all of it. */
  readonly onZoom?: (range: Range | undefined) => void;
  readonly isZoomed?: boolean;
  /** What the x axis stands for: the chart's own zoom ends when this changes. */
  readonly axis?: string;
}

export function Chart({
  title,
  caption,
  range,
  asked = range,
  onZoom,
  isZoomed,
  axis,
  ...spec
}: ChartProps) {
  const [zoomed, setZoomed] = useState<{ readonly axis: string | undefined; readonly to: Range }>();
  const own = zoomed?.axis === axis ? zoomed?.to : undefined;
  const [hovered, setHovered] = useState<number | null>(null);
  const zoom = onZoom ?? ((to: Range | undefined) => setZoomed(to && { axis, to }));
  const shown = own ?? range;
  const box = usePlot(spec, shown, {
    onHover: setHovered,
    onSelect: zoom,
    onReset: () => zoom(undefined),
  });
  return (
    <figure class="chart">
      <div class="row spread">
        <ChartLegend spec={spec} hovered={hovered} />
        <ZoomButtons
          of={title}
          range={own ?? asked}
          isZoomed={isZoomed ?? own !== undefined}
          onZoom={zoom}
        />
      </div>
      <div class="plot" ref={box} role="img" aria-label={`${title}. ${caption ?? ""}`} />
      <figcaption>
        {caption} {spec.isTime !== false && `Times are in ${zoneName()}.`}{" "}
        <span class="no-print">Drag to zoom in.</span>
      </figcaption>
      <ChartTable title={title} spec={spec} range={shown} />
    </figure>
  );
}

function usePlot(spec: ChartSpec, range: Range, events: PlotEvents) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot>(null);
  const latest = useRef({ spec, range, events });
  latest.current = { spec, range, events };
  // A change here makes a new plot; new values are given to the one there is.
  const kind = JSON.stringify([spec.isTime, spec.isStacked, isLocalTime.value, looksOf(spec)]);
  useEffect(() => {
    let isGone = false;
    const make = async (): Promise<void> => {
      const { createPlot } = await import("./plot.ts");
      if (isGone || !box.current) return;
      plot.current = createPlot(box.current, latest.current.spec, {
        onHover: (index) => latest.current.events.onHover(index),
        onSelect: (selected) => latest.current.events.onSelect(selected),
        onReset: () => latest.current.events.onReset(),
      });
      plot.current.show(latest.current.spec, latest.current.range);
    };
    void make();
    return () => {
      isGone = true;
      plot.current?.destroy();
      plot.current = null;
    };
  }, [kind]);
  const values = JSON.stringify([spec, range]);
  useEffect(() => plot.current?.show(spec, range), [values]);
  return box;
}

/** Returns everything that determines the look of the series, without their values. */
const looksOf = ({ series }: ChartSpec): string =>
  JSON.stringify(series, ["label", "colour", "draw", "dash", "phase"]);
