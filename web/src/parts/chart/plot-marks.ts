// Draws the parts of charts other than series: error bars, marks along the x axis, vertical lines.
import type UPlot from "uplot";
import type { ChartMarks, ChartSpec } from "./chart-spec.ts";
import type { Ink } from "./ink.ts";

/** Draws error bars from each value down to its possible minimum. */
export function drawErrors(plot: UPlot, { x, series }: ChartSpec, ink: Ink): void {
  const { ctx } = plot;
  start(plot);
  for (const { values, below, colour } of series) {
    if (!below) continue;
    ctx.strokeStyle = ink.colour(colour);
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.beginPath();
    for (const [at, value] of values.entries()) {
      const error = below[at];
      if (value === null || !error) continue;
      const left = Math.round(plot.valToPos(x[at] as number, "x", true));
      const [from, to] = [value, value - error].map((y) => plot.valToPos(y, "y", true));
      const cap = 3 * devicePixelRatio;
      ctx.moveTo(left, from as number);
      ctx.lineTo(left, to as number);
      ctx.moveTo(left - cap, to as number);
      ctx.lineTo(left + cap, to as number);
    }
    ctx.stroke();
  }
  ctx.restore();
}

/** A shape per tone: they must differ by more than colour. */
const SHAPES: Readonly<
  Record<
    ChartMarks["tone"],
    (ctx: CanvasRenderingContext2D, x: number, y: number, r: number) => void
  >
> = {
  fail: (ctx, x, y, r) => {
    ctx.moveTo(x - r, y - r);
    ctx.lineTo(x + r, y + r);
    ctx.moveTo(x + r, y - r);
    ctx.lineTo(x - r, y + r);
  },
  warn: (ctx, x, y, r) => {
    ctx.moveTo(x, y - r);
    ctx.lineTo(x + r, y + r);
    ctx.lineTo(x - r, y + r);
    ctx.closePath();
  },
  missed: (ctx, x, y, r) => {
    ctx.moveTo(x + r, y);
    ctx.arc(x, y, r, 0, 2 * Math.PI);
  },
};

export function drawMarks(plot: UPlot, { x, marks = [] }: ChartSpec, ink: Ink): void {
  const { ctx, bbox } = plot;
  const radius = 3.5 * devicePixelRatio;
  start(plot);
  ctx.lineWidth = 2 * devicePixelRatio;
  for (const [row, { tone, counts }] of marks.entries()) {
    const y = bbox.top + bbox.height - (2 * row + 1) * (radius + 2 * devicePixelRatio);
    ctx.strokeStyle = ink.colour(`--${tone}`);
    ctx.beginPath();
    for (const [at, count] of counts.entries())
      if (count) SHAPES[tone](ctx, plot.valToPos(x[at] as number, "x", true), y, radius);
    ctx.stroke();
  }
  ctx.restore();
}

export function drawLines(plot: UPlot, { lines = [] }: ChartSpec, ink: Ink): void {
  const { ctx, bbox } = plot;
  start(plot);
  ctx.strokeStyle = ink.colour("--text");
  ctx.fillStyle = ink.colour("--text");
  ctx.font = ink.font.replace("12px", `${12 * devicePixelRatio}px`);
  ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const { x, label } of lines) {
    const left = Math.round(plot.valToPos(x, "x", true));
    ctx.beginPath();
    ctx.moveTo(left, bbox.top);
    ctx.lineTo(left, bbox.top + bbox.height);
    ctx.stroke();
    const isRight = left > bbox.left + bbox.width / 2;
    ctx.textAlign = isRight ? "right" : "left";
    ctx.fillText(
      label,
      left + (isRight ? -6 : 6) * devicePixelRatio,
      bbox.top + 12 * devicePixelRatio,
    );
  }
  ctx.restore();
}

/** Until `restore`, draws inside the chart only, and without the dashes of its last line. */
function start({ ctx, bbox }: UPlot): void {
  ctx.save();
  ctx.setLineDash([]);
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
}
