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

const asGiven = (name: string): string => name;

/**
 * Rejects two names that are read as one, such as the same name given twice: one of their values
 * would be lost.
 */
export function assertDistinct(names: readonly string[], list: string, read = asGiven): void {
  const all = names.map(read);
  const second = all.findIndex((name, at) => all.indexOf(name) !== at);
  if (second === -1) return;
  const [one, other] = [names[all.indexOf(all[second] ?? "")], names[second]];
  const fault =
    one === other ? `'${one}' is given twice` : `'${one}' and '${other}' are the same variable`;
  throw new Error(`${list}: ${fault}. Change or remove one of them`);
}

/** Returns the index of a row among those that are sent; undefined if it is not sent. */
export function sentIndex(rows: readonly Row[], row: Row): number | undefined {
  const at = rows.filter(isFilled).indexOf(row);
  return at === -1 ? undefined : at;
}
