// A measured figure: its rounds, its yardstick from the same run, and its goal.
import { spreadOf } from "./statistics.ts";

export interface Figure {
  readonly what: string;
  readonly unit: string;
  /** One value per round; the median counts. */
  readonly rounds: readonly number[];
  /** The yardstick's values from the same run. */
  readonly beside?: { readonly what: string; readonly rounds: readonly number[] };
  readonly goal?: Goal;
}

export interface Goal {
  readonly atMost?: number;
  /** Bounds figure ÷ yardstick; left open if there is no yardstick. */
  readonly ratioAtMost?: number;
  readonly atLeast?: number;
  readonly ratioAtLeast?: number;
}

/** Figure ÷ yardstick; undefined without a yardstick. */
export const ratioOf = ({ rounds, beside }: Figure): number | undefined =>
  beside && spreadOf(rounds).median / spreadOf(beside.rounds).median;

/** Undefined if there is no goal, or no value to compare with it. */
export function isMet(figure: Figure): boolean | undefined {
  const { median } = spreadOf(figure.rounds);
  const ratio = ratioOf(figure) ?? NaN;
  const { atMost, atLeast, ratioAtMost, ratioAtLeast } = figure.goal ?? {};
  const parts = [
    { value: median, isWithin: atMost === undefined ? undefined : median <= atMost },
    { value: median, isWithin: atLeast === undefined ? undefined : median >= atLeast },
    { value: ratio, isWithin: ratioAtMost === undefined ? undefined : ratio <= ratioAtMost },
    { value: ratio, isWithin: ratioAtLeast === undefined ? undefined : ratio >= ratioAtLeast },
  ].filter(({ value, isWithin }) => isWithin !== undefined && !Number.isNaN(value));
  return parts.length === 0 ? undefined : parts.every(({ isWithin }) => isWithin);
}

const HEADINGS = ["", "median", "min..max", "", "beside", "ratio", "goal", ""];

/** Formats a table for people, one line per figure. */
export function tableOf(figures: readonly Figure[]): string {
  const rows = [HEADINGS, ...figures.map(cellsOf)];
  const widths = HEADINGS.map((_, column) =>
    Math.max(...rows.map((cells) => cells[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) =>
        isText(column) ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join("  ")
      .trimEnd();
  return rows.map(line).join("\n");
}

const isText = (column: number): boolean => [0, 3, 7].includes(column);

function cellsOf(figure: Figure): string[] {
  const { what, unit, rounds, beside, goal } = figure;
  const { min, median, max } = spreadOf(rounds);
  const ratio = ratioOf(figure);
  const met = isMet(figure);
  return [
    what,
    show(median),
    rounds.length > 1 ? `${show(min)}..${show(max)}` : "",
    unit,
    beside ? `${beside.what} ${show(spreadOf(beside.rounds).median)}` : "",
    ratio === undefined ? "" : ratio.toFixed(2),
    goal ? textOf(goal) : "",
    met === undefined ? "" : met ? "met" : "MISSED",
  ];
}

const textOf = ({ atMost, atLeast, ratioAtMost, ratioAtLeast }: Goal): string =>
  [
    ...(atMost === undefined ? [] : [`≤ ${show(atMost)}`]),
    ...(atLeast === undefined ? [] : [`≥ ${show(atLeast)}`]),
    ...(ratioAtMost === undefined ? [] : [`≤ ${show(ratioAtMost)} ×`]),
    ...(ratioAtLeast === undefined ? [] : [`≥ ${show(ratioAtLeast)} ×`]),
  ].join(", ");

/** Formats three significant digits; whole numbers from a hundred on. */
function show(value: number): string {
  if (!Number.isFinite(value)) return "-";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}
