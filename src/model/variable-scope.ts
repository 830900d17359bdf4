// The names that variables have in one call, and their values.
import { formatInstant } from "./instant.ts";
import type { Scope, Variable } from "./variables.ts";

/** What the system names of a call stand for; null where there is no such thing. */
export interface CallFacts {
  /** Epoch milliseconds. */
  readonly now: number;
  readonly guid: string;
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
  const reserved = reservedNames(facts);
  const taken = new Set(reserved.map(([name]) => name));
  return {
    system: new Map([
      ...present(ordinaryNames(facts)),
      ...Object.entries(context)
        .filter(([name, value]) => !taken.has(name) && !isItself(name, value))
        .map(([name, value]) => [name, open(textOf(value))] as const),
      ...present(reserved),
    ]),
    environment: new Map(
      [customVariables, environment].flatMap((values) =>
        Object.entries(values).map(
          ([name, value]) => [name, hidden(textOf(value))] as const,
        ),
      ),
    ),
  };
}

const open = (value: string): Variable => ({ value, secret: false });
const hidden = (value: string): Variable => ({ value, secret: true });

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === null || value === undefined ? "" : JSON.stringify(value);
}

/** Clients send `{"DATETIME": "%%DATETIME%%"}` to ask for the system's value. */
const isItself = (name: string, value: unknown): boolean =>
  typeof value === "string" && value.toUpperCase() === `%%${name}%%`;

type Entry = readonly [name: string, variable: Variable | null];

const present = (entries: readonly Entry[]): [string, Variable][] =>
  entries.flatMap(([name, variable]) => (variable ? [[name, variable]] : []));

const ifAny = (
  value: string | null,
  make: (value: string) => Variable,
): Variable | null => (value === null ? null : make(value));

function ordinaryNames(facts: CallFacts): Entry[] {
  const datetime = formatInstant(facts.now).replace(/Z$/, "");
  return [
    ["DATETIME", open(datetime)],
    ["DATE", open(datetime.slice(0, 10))],
    ["TIME", open(datetime.slice(11, 19))],
    ["UNIXTIME", open(String(Math.floor(facts.now / 1000)))],
    ["GUID", open(facts.guid)],
    ["CALL_NAME", open(facts.call_name)],
    ["WORKFLOW_NAME", ifAny(facts.workflow_name, open)],
  ];
}

const reservedNames = (facts: CallFacts): Entry[] => [
  ["RESULT_ID", open(facts.result_id)],
  ["CALL_RESULT_ID", open(facts.result_id)],
  ["WORKFLOW_RESULT_ID", open(facts.run_id)],
  ["TEST_RUN_RESULT_ID", open(facts.run_id)],
  ["CALL_ID", open(facts.call_id)],
  ["WORKFLOW_ID", ifAny(facts.workflow_id, open)],
  ["LOCATION_ID", open(facts.location_id)],
  ["CLIENT_ID", ifAny(facts.client_id, hidden)],
  ["CLIENT_SECRET", ifAny(facts.client_secret, hidden)],
  ["ACCESS_TOKEN", ifAny(facts.access_token, hidden)],
];
