// Tables for people: columns as wide as their cells, cut to the width of a terminal.
import { cut, harmless, widthOf } from "./text.ts";

export type Color = "red" | "green" | "yellow" | "gray";

/** Where a table is printed. */
export interface Screen {
  /** In columns; undefined: nothing is cut, as in a file or a pipe. */
  readonly width: number | undefined;
  readonly paint: (color: Color, text: string) => string;
}

export interface Column<T> {
  readonly heading: string;
  /** Null appears as `-`. */
  readonly cell: (row: T) => string | number | null | undefined;
  readonly align?: "right";
  /** Shrinks on a narrow terminal: columns with `first` first, then the widest of the others. */
  readonly shrinks?: true | "first";
  /** Carries no information that the text lacks. */
  readonly color?: (row: T) => Color | undefined;
}

const GAP = "  ";
const LEAST_WIDTH = 6;

export function tableOf<T>(
  columns: readonly Column<T>[],
  rows: readonly T[],
  { width, paint }: Screen,
): string {
  const cells = rows.map((row) => columns.map(({ cell }) => harmless(String(cell(row) ?? "-"))));
  const needed = columns.map(({ heading }, n) =>
    cells.reduce((most, row) => Math.max(most, widthOf(row[n] ?? "")), heading.length),
  );
  const widths = width === undefined ? needed : shrunk(columns, needed, width);
  const lineOf = (texts: readonly string[], row?: T): string =>
    columns
      .map(({ align, color }, n) => {
        const text = cut(texts[n] ?? "", widths[n] ?? 0);
        const space = " ".repeat(Math.max(0, (widths[n] ?? 0) - widthOf(text)));
        const shade = row === undefined ? undefined : color?.(row);
        const painted = shade ? paint(shade, text) : text;
        return align === "right" ? space + painted : painted + space;
      })
      .join(GAP)
      .trimEnd();
  return [
    lineOf(columns.map(({ heading }) => heading)),
    ...rows.map((row, n) => lineOf(cells[n] ?? [], row)),
  ]
    .map((line) => `${line}\n`)
    .join("");
}

/** Narrows the columns that may shrink until the table fits, or none can shrink further. */
function shrunk(
  columns: readonly Column<never>[],
  needed: readonly number[],
  width: number,
): number[] {
  const widths = [...needed];
  let over = widths.reduce((sum, each) => sum + each, GAP.length * (columns.length - 1)) - width;
  for (const turn of ["first", true] as const)
    while (over > 0) {
      const widest = columns
        .map(({ shrinks, heading }, n) => ({
          n,
          shrinks,
          least: Math.max(LEAST_WIDTH, heading.length),
        }))
        .filter(({ n, shrinks, least }) => shrinks === turn && (widths[n] ?? 0) > least)
        .reduce((a, b) => ((widths[b.n] ?? 0) > (widths[a] ?? 0) ? b.n : a), -1);
      if (widest === -1) break;
      widths[widest] = (widths[widest] ?? 0) - 1;
      over -= 1;
    }
  return widths;
}
