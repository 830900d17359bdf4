// Table columns that each show one field of the API's objects.
import { percentText } from "../model/percent.ts";
import type { Json } from "./api.ts";
import { fieldOf, textOf } from "./fields.ts";
import type { Column } from "./table.ts";

/** `path`: the field's path, such as `meta.name`. */
export const column = (
  heading: string,
  path: string,
  more: Partial<Column<Json>> = {},
): Column<Json> => ({ heading, cell: (row) => textOf(row, path), ...more });

/** Without decimals, unless `text` formats the number. */
export const numberColumn = (
  heading: string,
  path: string,
  text = (value: number): string => value.toFixed(0),
): Column<Json> => ({
  heading,
  align: "right",
  cell(row) {
    const value = fieldOf(row, path);
    return typeof value === "number" ? text(value) : null;
  },
});

export const percentColumn = (heading: string, path: string): Column<Json> =>
  numberColumn(heading, path, percentText);

/** Shows the length of an array. */
export const countColumn = (heading: string, path: string): Column<Json> => ({
  heading,
  align: "right",
  cell: (row) => (fieldOf(row, path) as readonly unknown[]).length,
});
