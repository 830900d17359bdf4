// Draws charts with uPlot. Loaded when the first chart is shown.
import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { indexesAlone } from "./chart-spec.ts";
import type { ChartSeries, ChartSpec, Range } from "./chart-spec.ts";
import { axisTimes } from "./chart-time.ts";
import { createInk } from "./ink.ts";
import type { Ink } from "./ink.ts";
import { drawErrors, drawLines, drawMarks } from "./plot-marks.ts";
import { isLocalTime } from "../time.tsx";

export interface PlotEvents {
  /** Called with the index of the x under the pointer; null: none. */
  readonly onHover: (index: number | null) => void;
  /** Called when the reader has dragged over a part of the x axis. */
  readonly onSelect: (range: Range) => void;
  readonly onReset: () => void;
}

export type Plot = ReturnType<typeof createPlot>;

/** Fills `box` and follows its size, until `destroy`. */
export function createPlot(box: HTMLElement, first: ChartSpec, events: PlotEvents) {
  let spec = first;
  let range: Range = [0, 1];
  const ink = createInk(box);
  const context = { spec: () => spec, range: () => range, ink, events };
  const plot = new UPlot(optionsOf(box, context), dataOf(spec), box);
  // Dragging continues above and below the plot: uPlot would extend the selection to the edge.
  const { over } = plot;
  over.addEventListener("pointerdown", ({ pointerId }) => over.setPointerCapture(pointerId));
  const fit = (): void => plot.setSize(sizeOf(box));
  const resized = new ResizeObserver(fit);
  resized.observe(box);
  const fitPaper = (): void => plot.setSize(sizeOf(box, PAPER));
  addEventListener("beforeprint", fitPaper);
  addEventListener("afterprint", fit);
  const redraw = (): void => plot.redraw(true, true);
  const stopInk = ink.onChange(redraw);
  return {
    /** Shows other values of the same series; other series need another plot. */
    show(next: ChartSpec, nextRange: Range): void {
      [spec, range] = [next, nextRange];
      plot.setData(dataOf(next), true);
    },
    destroy(): void {
      stopInk();
      removeEventListener("beforeprint", fitPaper);
      removeEventListener("afterprint", fit);
      resized.disconnect();
      plot.destroy();
    },
  };
}

export interface PlotContext {
  readonly spec: () => ChartSpec;
  readonly range: () => Range;
  readonly ink: Ink;
  readonly events: PlotEvents;
}

/** About the width of a printed page: of a wider drawing, the labels would be too small. */
const PAPER = 680;

const sizeOf = (box: HTMLElement, widest = Infinity) => ({
  width: Math.min(Math.max(box.clientWidth, 120), widest),
  height: Math.max(box.clientHeight, 80),
});

/** Draws stacked series from the top down: each covers the lower part of the one before. */
const inDrawOrder = ({ series, isStacked }: ChartSpec): readonly ChartSeries[] =>
  isStacked ? series.toReversed() : series;

function dataOf(spec: ChartSpec): UPlot.AlignedData {
  const { x, series, isStacked } = spec;
  if (!isStacked) return [[...x], ...series.map(({ values }) => [...values])];
  const sums = series.map((_, last) =>
    x.map((__, at) => {
      const parts = series.slice(0, last + 1).map(({ values }) => values[at] ?? null);
      return parts.every((part) => part === null)
        ? null
        : parts.reduce<number>((sum, part) => sum + (part ?? 0), 0);
    }),
  );
  return [[...x], ...sums.toReversed()];
}

/** Where uPlot puts the cursor while no pointer is over the plot. */
const NOWHERE = -10;

function optionsOf(box: HTMLElement, context: PlotContext): UPlot.Options {
  const { spec, ink, events, range } = context;
  return {
    ...sizeOf(box),
    ms: 1,
    tzDate: (ms) => (isLocalTime.value ? new Date(ms) : UPlot.tzDate(new Date(ms), "Etc/UTC")),
    padding: [8, 32, 0, 0],
    legend: { show: false },
    scales: {
      x: { time: spec().isTime !== false, range: () => [...range()] },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] },
    },
    axes: axesOf(context),
    series: [{}, ...inDrawOrder(spec()).map((one) => seriesOf(one, spec(), ink))],
    cursor: {
      y: false,
      drag: { x: true, y: false, setScale: false, dist: 4 },
      move: ({ over }, left, top) =>
        left === NOWHERE && top === NOWHERE
          ? [left, top]
          : [Math.min(Math.max(left, 0), over.clientWidth), top],
      points: { size: 7 },
      bind: { dblclick: () => () => (events.onReset(), null) },
    },
    hooks: {
      setCursor: [({ cursor }) => events.onHover(cursor.idx ?? null)],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width < 4) return;
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          events.onSelect([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
        },
      ],
      draw: [
        (plot) => {
          drawErrors(plot, spec(), ink);
          drawLines(plot, spec(), ink);
          drawMarks(plot, spec(), ink);
        },
      ],
    },
  };
}

/** The steps between the marks of an axis of counts. */
const COUNTS = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000].flatMap((n) => [n, 2 * n, 5 * n]);

/**
 * Blanks labels that repeat the one before: marks may be too close together for their labels to
 * differ.
 */
const withoutRepeats = (labels: readonly string[]): string[] =>
  labels.map((label, at) => (label === labels[at - 1] ? "" : label));

function axesOf({ spec, ink }: PlotContext): UPlot.Axis[] {
  const look: UPlot.Axis = {
    font: ink.font,
    stroke: () => ink.colour("--muted"),
    grid: { stroke: () => ink.colour("--line"), width: 1 },
    ticks: { stroke: () => ink.colour("--line"), width: 1, size: 5 },
  };
  const { isTime = true, formatX = String, isCount = false } = spec();
  return [
    {
      ...look,
      size: isTime ? 44 : 32,
      space: isTime ? 64 : 72,
      // The index of a bar is a whole number.
      ...(!isTime && { incrs: COUNTS }),
      values: (_, marks, __, ___, step) =>
        isTime ? axisTimes(marks, step) : withoutRepeats(marks.map(formatX)),
    },
    {
      ...look,
      space: 36,
      ...(isCount && { incrs: COUNTS }),
      // The default size cuts off long labels.
      size: (_, values) => 16 + 7 * Math.max(4, ...(values ?? []).map((text) => text.length)),
      values: (_, marks) => withoutRepeats(marks.map((value) => spec().format(value))),
    },
  ];
}

/** In pixels; bars over another axis than time are as wide as what they count. */
const WIDEST_IN_TIME = 64;

function seriesOf(
  { colour, draw = "line", dash, phase }: ChartSeries,
  { isTime = true }: ChartSpec,
  ink: Ink,
): UPlot.Series {
  const stroke = (): string => ink.colour(colour);
  const points: UPlot.Series.Points = { size: 5, stroke, fill: stroke };
  if (draw === "bars")
    return {
      paths: UPlot.paths.bars?.({ size: [0.86, isTime ? WIDEST_IN_TIME : Infinity], align: 1 }),
      width: 0,
      fill: () => (phase ? ink.pattern(phase) : ink.colour(colour)),
      points: { show: false },
    };
  if (draw === "points")
    return { stroke, paths: () => null, points: { ...points, show: true, space: 0 } };
  return {
    stroke,
    width: 1.75,
    ...(dash && { dash: [...dash] }),
    points: { ...points, filter: pointsToDraw },
  };
}

/** Returns null for all points, which uPlot draws where they are far enough apart. */
const pointsToDraw: UPlot.Series.Points.Filter = ({ data }, series, isEvery) =>
  isEvery ? null : indexesAlone(data[series] as ChartSeries["values"]);
