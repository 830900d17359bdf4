// What a chart shows: series over one x axis, and marks along it.
import type { Phase } from "../../../../src/model/timing.ts";

/** From and to, in the unit of the x axis. */
export type Range = readonly [from: number, to: number];

export interface ChartSeries {
  readonly label: string;
  /** One for each x; null: none. */
  readonly values: readonly (number | null)[];
  /** A token of tokens.css, such as `--accent`. */
  readonly colour: string;
  /** A line by default. */
  readonly draw?: "line" | "bars" | "points";
  /** Lengths of a line's dashes and gaps in pixels: lines must differ by more than colour. */
  readonly dash?: readonly number[];
  /** Bars are filled with the pattern of this phase. */
  readonly phase?: Phase;
  /** By how much each value may be too high: drawn as error bars. */
  readonly below?: readonly (number | null)[];
}

/** Counts along the x axis: a shape marks each that is not zero. */
export interface ChartMarks {
  readonly label: string;
  readonly tone: "fail" | "warn" | "missed";
  readonly counts: readonly (number | null)[];
}

export interface ChartSpec {
  /** Ascending: epoch milliseconds, or plain numbers if `isTime` is false. */
  readonly x: readonly number[];
  readonly series: readonly ChartSeries[];
  readonly marks?: readonly ChartMarks[];
  /** Stacks the series, the first at the bottom. */
  readonly isStacked?: boolean;
  /** True by default. */
  readonly isTime?: boolean;
  /** Formats an x that is not a time. */
  readonly formatX?: (x: number) => string;
  readonly format: (y: number) => string;
  /** Whether y has no fractions. */
  readonly isCount?: boolean;
  /** Vertical lines, each at an instant or a value of x, with what it means. */
  readonly lines?: readonly { readonly x: number; readonly label: string }[];
}

/** Returns the indexes of values between two gaps: a line through one of them has no length. */
export const indexesAlone = (values: ChartSeries["values"]): number[] =>
  [...values.keys()].filter(
    (at) => values[at] != null && values[at - 1] == null && values[at + 1] == null,
  );

export const DASHES: readonly (readonly number[])[] = [[], [8, 4], [2, 3], [10, 3, 2, 3], [4, 4]];

/** Colours of series that are neither phases nor states. */
export const SERIES_COLOURS = ["--accent", "--processing", "--handshake", "--dns", "--download"];
