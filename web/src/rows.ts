// Rows of names and values, as forms hold them.
import type { KeyValue } from "../../src/model/fields.ts";

export interface Row extends KeyValue {
  /** Tells rows apart while they move. */
  readonly id: number;
}

let rowsMade = 0;

export function newRow(key = "", value = ""): Row {
  rowsMade += 1;
  return { id: rowsMade, key, value };
}

export const toRows = (pairs: readonly KeyValue[]): readonly Row[] =>
  pairs.map(({ key, value }) => newRow(key, value));

const isFilled = ({ key, value }: KeyValue): boolean => key !== "" || value !== "";

/** Omits empty rows. */
export const toPairs = (rows: readonly Row[]): KeyValue[] =>
  rows.filter(isFilled).map(({ key, value }) => ({ key, value }));

/** Rejects a name that is given twice: only the last of its values would be sent. */
export function assertDistinct(names: readonly string[], list: string): void {
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice === undefined) return;
  throw new Error(`${list}: '${twice}' is there twice. Change or remove one of them`);
}

/** Returns the index of a row among those that are sent; undefined if it is not sent. */
export function sentIndex(rows: readonly Row[], row: Row): number | undefined {
  const at = rows.filter(isFilled).indexOf(row);
  return at === -1 ? undefined : at;
}
