// What a chart shows: series over one x axis, and marks along it.
import type { Phase } from "../../../src/model/summary.ts";

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
  /** Of a line: lengths of dashes and gaps in pixels, so that colour is not all that tells it. */
  readonly dash?: readonly number[];
  /** Bars are filled with the pattern of this phase. */
  readonly phase?: Phase;
  /** How much lower each value may be: drawn as error bars. */
  readonly below?: readonly (number | null)[];
}

/** Counts along the x axis: a shape where there are some. */
export interface ChartMarks {
  readonly label: string;
  readonly tone: "fail" | "warn" | "missed";
  readonly counts: readonly (number | null)[];
}

export interface ChartSpec {
  /** Ascending: epoch milliseconds, or numbers where `isTime` is false. */
  readonly x: readonly number[];
  readonly series: readonly ChartSeries[];
  readonly marks?: readonly ChartMarks[];
  /** Series lie on one another, the first at the bottom. */
  readonly isStacked?: boolean;
  /** True by default. */
  readonly isTime?: boolean;
  /** Of an x that is no time. */
  readonly formatX?: (x: number) => string;
  readonly format: (y: number) => string;
  /** Of y: it has no fractions. */
  readonly isCount?: boolean;
  /** An instant, or a value of x, with what it means: a vertical line. */
  readonly lines?: readonly { readonly x: number; readonly label: string }[];
}

export const DASHES: readonly (readonly number[])[] = [[], [8, 4], [2, 3], [10, 3, 2, 3], [4, 4]];

/** Colours of series that are no phases and no states, apart from one another. */
export const SERIES_COLOURS = ["--accent", "--processing", "--handshake", "--dns", "--download"];
