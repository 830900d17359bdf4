// Writes the fields of JSON objects as CSV (RFC 4180) that no spreadsheet runs as formulas.
import type { TSchema } from "typebox";

/** The name of its field, such as `meta.result`. */
export type Column = string;

const END = "\r\n";

/** Lists the fields of objects of this schema, including those of nested objects. */
export function columnsOf(schema: TSchema): Column[] {
  const properties = propertiesOf(schema);
  if (!properties) return [""];
  return Object.entries(properties).flatMap(([name, inner]) =>
    columnsOf(inner).map((column) => (column === "" ? name : `${name}.${column}`)),
  );
}

type Properties = Readonly<Record<string, TSchema>>;

/** Returns the properties of an object, nullable or not. */
function propertiesOf(schema: TSchema): Properties | undefined {
  const { properties, anyOf } = schema as {
    readonly properties?: Properties;
    readonly anyOf?: readonly TSchema[];
  };
  const others = anyOf?.filter(({ type }: { type?: unknown }) => type !== "null");
  return others?.length === 1 ? propertiesOf(others[0] as TSchema) : properties;
}

export const csvHeader = (columns: readonly Column[]): string => columns.map(cell).join(",") + END;

/** Makes the record of an object. A field that is absent or null is empty, a list is JSON. */
export function csvRecords(columns: readonly Column[]): (row: object) => string {
  const paths = columns.map((column) => column.split("."));
  return (row) => paths.map((path) => cell(fieldOf(row, path))).join(",") + END;
}

function fieldOf(row: object, path: readonly string[]): unknown {
  let value: unknown = row;
  for (const name of path) {
    if (value === null || value === undefined) return value;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value;
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return quoted(harmless(value));
  // Numbers too: `String` would cache their texts.
  return quoted(JSON.stringify(value));
}

/** Empty text is quoted to differ from no text. */
const NEEDS_QUOTES = /[",;\t\r\n]|^\s|\s$|^$/;

const quoted = (text: string): string =>
  NEEDS_QUOTES.test(text) ? `"${text.replaceAll(/"/g, '""')}"` : text;

/**
 * The start of a formula, after spaces that a spreadsheet may drop. Includes full-width characters,
 * which some treat alike. https://owasp.org/www-community/attacks/CSV_Injection
 */
const FORMULA = /^(?:[\t\r\n]|[\s\p{Cc}\p{Cf}]*[=+\-@\uff1d\uff0b\uff0d\uff20])/u;

/** An apostrophe in front makes it text. */
const harmless = (text: string): string => (FORMULA.test(text) ? `'${text}` : text);
