// The names that variables have in one call, and their values.
import { formatInstant } from "./instant.ts";
import type { Scope, Variable } from "./variables.ts";

/** What the system names of a call stand for; null where there is no such thing. */
export interface CallFacts {
  /** Epoch milliseconds. */
  readonly now: number;
  /** A random UUID, the same each time it is asked for. */
  readonly guid: () => string;
  readonly result_id: string;
  /** Of the run: the same as `result_id`, or the workflow's. */
  readonly run_id: string;
  readonly call_id: string;
  readonly call_name: string;
  readonly location_id: string;
  readonly workflow_id: string | null;
  readonly workflow_name: string | null;
  readonly client_id: string | null;
  readonly client_secret: string | null;
  readonly access_token: string | null;
}

export interface GivenValues {
  /** By name in upper case. */
  readonly context: Readonly<Record<string, unknown>>;
  readonly environment: Readonly<Record<string, string>>;
  readonly customVariables: Readonly<Record<string, unknown>>;
}

/** Context wins over the clock and names, never over ids and credentials. */
export function scopeOf(facts: CallFacts, given: GivenValues): Scope {
  const { context, environment, customVariables } = given;
  return {
    system(name) {
      for (const [table, secret] of RESERVED)
        if (Object.hasOwn(table, name)) return variable(table[name]?.(facts), secret);
      const value = Object.hasOwn(context, name) ? context[name] : undefined;
      if (value !== undefined && !isItself(name, value))
        return { value: textOf(value), secret: false };
      return Object.hasOwn(ORDINARY, name) ? variable(ORDINARY[name]?.(facts), false) : undefined;
    },
    environment(name) {
      const values = [environment, customVariables].find((each) => Object.hasOwn(each, name));
      return values && { value: textOf(values[name]), secret: true };
    },
  };
}

const variable = (value: string | null | undefined, secret: boolean): Variable | undefined =>
  value === null || value === undefined ? undefined : { value, secret };

function textOf(value: unknown): string | null {
  if (typeof value === "string") return value;
  return value === null || value === undefined ? null : JSON.stringify(value);
}

/** Clients send `{"DATETIME": "%%DATETIME%%"}` to ask for the system's value. */
const isItself = (name: string, value: unknown): boolean =>
  typeof value === "string" && value.toUpperCase() === `%%${name}%%`;

type Values = Readonly<Record<string, (facts: CallFacts) => string | null>>;

const datetimeOf = ({ now }: CallFacts): string => formatInstant(now).replace(/Z$/, "");

const ORDINARY: Values = {
  DATETIME: datetimeOf,
  DATE: (facts) => datetimeOf(facts).slice(0, 10),
  TIME: (facts) => datetimeOf(facts).slice(11, 19),
  UNIXTIME: ({ now }) => String(Math.floor(now / 1000)),
  GUID: ({ guid }) => guid(),
  CALL_NAME: ({ call_name }) => call_name,
  WORKFLOW_NAME: ({ workflow_name }) => workflow_name,
};

const IDS: Values = {
  RESULT_ID: ({ result_id }) => result_id,
  CALL_RESULT_ID: ({ result_id }) => result_id,
  WORKFLOW_RESULT_ID: ({ run_id }) => run_id,
  TEST_RUN_RESULT_ID: ({ run_id }) => run_id,
  CALL_ID: ({ call_id }) => call_id,
  WORKFLOW_ID: ({ workflow_id }) => workflow_id,
  LOCATION_ID: ({ location_id }) => location_id,
};

const CREDENTIALS: Values = {
  CLIENT_ID: ({ client_id }) => client_id,
  CLIENT_SECRET: ({ client_secret }) => client_secret,
  ACCESS_TOKEN: ({ access_token }) => access_token,
};

const RESERVED: readonly (readonly [Values, secret: boolean])[] = [
  [IDS, false],
  [CREDENTIALS, true],
];
