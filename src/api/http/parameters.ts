// Query parameters: their parsing, checks and OpenAPI descriptions.
import type { TSchema } from "typebox";
import { invalid } from "../../model/errors.ts";
import { dateTime, EXAMPLE } from "../../model/fields.ts";
import { FIRST_INSTANT, formatInstant, LAST_INSTANT, parseInstant } from "../../model/instant.ts";
import { Type } from "../../model/type.ts";
import { show } from "../../model/validate.ts";

export interface Parameter<T> {
  readonly schema: TSchema;
  /** `given` is undefined for an absent parameter. Throws `invalid`. */
  read(given: string | undefined, name: string): T;
}

export type Parameters = Readonly<Record<string, Parameter<unknown>>>;

export type Values<P extends Parameters> = {
  readonly [K in keyof P]: P[K] extends Parameter<infer T> ? T : never;
};

/** Reads the parameters of a query; ignores any others. */
export function readParameters<P extends Parameters>(
  parameters: P,
  query: Readonly<Record<string, unknown>>,
): Values<P> {
  const values: Record<string, unknown> = {};
  for (const [name, parameter] of Object.entries(parameters)) {
    const given = query[name];
    if (given !== undefined && typeof given !== "string")
      throw invalid(`${name}: given more than once`);
    if (given?.includes("\0")) throw invalid(`${name}: contains a NUL character`);
    values[name] = parameter.read(given, name);
  }
  return values as Values<P>;
}

interface Range {
  readonly minimum: number;
  readonly maximum: number;
}

/** Throws `invalid` for anything but an integer in the range. */
export function readInteger(given: string, name: string, { minimum, maximum }: Range): number {
  const value = /^\d{1,9}$/.test(given) ? Number(given) : Number.NaN;
  if (value >= minimum && value <= maximum) return value;
  throw invalid(`${name}: ${show(given)} is not an integer from ${minimum} to ${maximum}`);
}

export const integer = (
  description: string,
  range: Range,
  fallback: number,
): Parameter<number> => ({
  schema: Type.Integer({ ...range, description, default: fallback }),
  read: (given, name) => (given === undefined ? fallback : readInteger(given, name, range)),
});

const list = (allowed: readonly string[]): string =>
  `[${allowed.map((one) => show(one)).join(", ")}]`;

/** Read in any letter case. */
export function choice<const T extends string>(
  description: string,
  allowed: readonly T[],
  fallback: T,
): Parameter<T> {
  return {
    schema: Type.Enum([...allowed], { description, default: fallback, examples: [fallback] }),
    read(given, name) {
      if (given === undefined) return fallback;
      const value = allowed.find((one) => one.toUpperCase() === given.toUpperCase());
      if (value !== undefined) return value;
      throw invalid(`${name}: ${show(given)} is not one of ${list(allowed)}`);
    },
  };
}

/** Undefined if absent: the parameter loses its fallback. */
export const optional = <T>(parameter: Parameter<T>): Parameter<T | undefined> => {
  const { default: _default, ...schema } = parameter.schema as TSchema & {
    readonly default?: unknown;
  };
  return {
    schema,
    read: (given, name) => (given === undefined ? undefined : parameter.read(given, name)),
  };
};

/** Read as epoch milliseconds. */
export const instant = (description: string): Parameter<number | undefined> => ({
  schema: dateTime(Type.String({ description, examples: [EXAMPLE.time] })),
  read(given, name) {
    if (given === undefined) return undefined;
    // An unescaped + arrives as a space; between a time and its offset, it can only be that.
    const value = parseInstant(given.replace(/([T ][\d:.]+) (?=\d\d:?\d\d$)/i, "$1+"));
    if (value === undefined)
      throw invalid(`${name}: ${show(given)} is not an ISO 8601 date or date-time`);
    if (value >= FIRST_INSTANT && value <= LAST_INSTANT) return value;
    throw invalid(`${name}: ${show(given)} is not within the years 1 to 9999 in UTC`);
  },
});

const BELOW_MS = /[.,]\d{3}\d*[1-9]/;

/** As `instant`, plus half a millisecond if it lies between two: round it up or down to use it. */
export function exactInstant(description: string): Parameter<number | undefined> {
  const down = instant(description);
  return {
    schema: down.schema,
    read(given, name) {
      const ms = down.read(given, name);
      const isBetween = ms !== undefined && ms < LAST_INSTANT && BELOW_MS.test(String(given));
      return isBetween ? ms + 0.5 : ms;
    },
  };
}

/**
 * A bound of times, which are whole milliseconds: rounded up, it divides them like the given value.
 */
export function bound(description: string): Parameter<number | undefined> {
  const exact = exactInstant(description);
  return {
    schema: exact.schema,
    read(given, name) {
      const ms = exact.read(given, name);
      return ms === undefined ? undefined : Math.ceil(ms);
    },
  };
}

/** Throws `invalid` if `from` is later than `to`. */
export function assertRange({
  from = -Infinity,
  to = Infinity,
}: {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}): void {
  if (from > to)
    throw invalid(`from: '${formatInstant(from)}' is later than to: '${formatInstant(to)}'`);
}

const YES = ["true", "t", "1"];
const NO = ["false", "f", "0"];

/** Reads any letter case; an empty value counts as absent. */
function readTruth(given: string | undefined, name: string): boolean | undefined {
  if (given === undefined || given === "") return undefined;
  const value = given.toLowerCase();
  if (YES.includes(value) || NO.includes(value)) return YES.includes(value);
  throw invalid(`${name}: ${show(given)} is not one of ${list([...YES, ...NO])}`);
}

/** False if absent. */
export const truth = (description: string): Parameter<boolean> => ({
  schema: Type.Enum([...YES, ...NO], {
    description: `true, t or 1: ${description}`,
    examples: ["true"],
  }),
  read: (given, name) => readTruth(given, name) ?? false,
});

/** Undefined if absent; says what each of the three selects. */
export const truthOrNone = (
  yes: string,
  no: string,
  none: string,
): Parameter<boolean | undefined> => ({
  schema: Type.Enum([...YES, ...NO], {
    description: `true, t or 1: ${yes}; false, f or 0: ${no}; absent: ${none}`,
    examples: ["true"],
  }),
  read: readTruth,
});

/** An empty value counts as absent. */
export const text = (description: string, example: string): Parameter<string | undefined> => ({
  schema: Type.String({ description, examples: [example] }),
  read: (given) => (given === "" ? undefined : given),
});

export const CURSOR = text("`meta.next_cursor` of the previous page", "");

export const LIST_PAGING = {
  cursor: CURSOR,
  limit: integer("maximum entries per page", { minimum: 1, maximum: 1000 }, 100),
};
