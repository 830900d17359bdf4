// Adds the currently stored environment values named by their calls to ticks.
import { ownerOf } from "../model/access.ts";
import { isVariableName, workspaceKey } from "../model/environment.ts";
import type { Variable } from "../model/environment.ts";
import { cannotBeDecrypted } from "../model/secrets.ts";
import type { Tick, TickCall } from "../model/tick.ts";
import { environmentNames } from "../model/variables.ts";
import type { PendingRun, StoredVariable } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import type { WaitingRuns } from "./waiting-runs.ts";

const DEFAULT_WORKSPACE = "global";

/** Stored variables by name. */
type Variables = ReadonlyMap<string, StoredVariable>;

/** Values by the ids of their variables; null for one that cannot be decrypted. */
type Values = ReadonlyMap<string, string | null>;

/** A tick, and the run that it orders. */
export interface Ordered {
  readonly tick: Tick;
  readonly run: PendingRun;
}

interface Complete {
  readonly ticks: readonly Tick[];
  /** Those for whose values their owner has no room; the values are not read. */
  readonly refused: readonly Ordered[];
}

/**
 * Takes values from the run's workspace, or else from the default one. The workspaces belong to
 * whoever ordered the run, and so to the owner of each of its calls.
 */
export async function withEnvironment(
  store: Store,
  ordered: readonly Ordered[],
  waiting: WaitingRuns,
): Promise<Complete> {
  const workspaces = await findVariables(store.documents, ordered);
  const [admitted, refused]: [Found[], Ordered[]] = [[], []];
  for (const one of ordered) {
    const variables = variablesOf(one, workspaces);
    if (waiting.admitsValues(one.run, bytesOf(variables))) admitted.push({ ...one, variables });
    else refused.push(one);
  }
  const values = await readValues(store, admitted);
  return { ticks: admitted.map((one) => withValues(one, values)), refused };
}

interface Found extends Ordered {
  readonly variables: Variables;
}

/** Returns the variables that the ticks refer to, by workspace. Reads no values. */
async function findVariables(
  documents: Store["documents"],
  ordered: readonly Ordered[],
): Promise<ReadonlyMap<string, Variables>> {
  const wanted = ordered.flatMap((one) => {
    const names = namesIn(one.tick);
    return names.length === 0 ? [] : workspacesOf(one).map((workspace) => ({ workspace, names }));
  });
  const found = new Map<string, Variables>();
  for (const [workspace, uses] of Map.groupBy(wanted, (each) => each.workspace)) {
    const names = new Set(uses.flatMap((each) => each.names));
    const variables = await documents.variablesIn(workspace, [...names]);
    found.set(workspace, new Map(variables.map((variable) => [variable.name, variable])));
  }
  return found;
}

const namesIn = ({ calls }: Tick): string[] =>
  environmentNames(calls.flatMap(textsOf)).filter(isVariableName);

/** Returns their keys; the first that has a variable provides its value. */
const workspacesOf = ({ tick, run }: Ordered): string[] =>
  [workspaceIn(tick.context), DEFAULT_WORKSPACE].map((name) => workspaceKey(ownerOf(run), name));

function variablesOf(ordered: Ordered, workspaces: ReadonlyMap<string, Variables>): Variables {
  const found = workspacesOf(ordered).map((workspace) => workspaces.get(workspace));
  const variables = new Map<string, StoredVariable>();
  for (const name of found.some(Boolean) ? namesIn(ordered.tick) : []) {
    const variable = found[0]?.get(name) ?? found[1]?.get(name);
    if (variable) variables.set(name, variable);
  }
  return variables;
}

/** Stored, a value takes a third more space, plus some 400 bytes. */
const bytesOf = (variables: Variables): number =>
  [...variables.values()].reduce(
    (sum, { name, bytes }) => sum + name.length + Math.max(0, bytes - 400) * 0.75,
    0,
  );

async function readValues(store: Store, found: readonly Found[]): Promise<Values> {
  const ids = found.flatMap(({ variables }) => [...variables.values()].map(({ id }) => id));
  const read = await store.documents.getMany("variable", ids);
  return new Map(
    [...read].map(([id, { document, unreadable }]) => {
      const { value } = (document as Variable).workspace_variable;
      return [id, unreadable ? null : value];
    }),
  );
}

/** A number, such as a year, names the workspace that `%%WORKSPACE%%` shows. */
function workspaceIn({ WORKSPACE: given }: Tick["context"]): string {
  const isName = typeof given === "string" || typeof given === "number";
  return isName ? String(given) : DEFAULT_WORKSPACE;
}

function withValues({ tick, variables }: Found, values: Values): Tick {
  if (variables.size === 0) return tick;
  const given = [...variables].map(([name, { id }]) => [name, values.get(id)] as const);
  const environment = Object.fromEntries(
    given.flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
  );
  const unreadable = new Set(given.flatMap(([name, value]) => (value === null ? [name] : [])));
  if (unreadable.size === 0) return { ...tick, environment };
  const calls = tick.calls.map((call): TickCall => {
    if (call.unable !== undefined) return call;
    const name = environmentNames(textsOf(call)).find((one) => unreadable.has(one));
    if (name === undefined) return call;
    return { ...call, unable: cannotBeDecrypted(`the environment variable ${name}`) };
  });
  return { ...tick, calls, environment };
}

/** Returns the texts that variables are filled into. */
const textsOf = ({ request, authorization }: TickCall): string[] => [
  request.url,
  request.body ?? "",
  ...[
    request.parameters,
    request.headers,
    authorization?.token?.headers ?? [],
    authorization?.token?.parameters ?? [],
  ].flatMap((pairs) => pairs.flatMap(({ key, value }) => [key, value])),
];
