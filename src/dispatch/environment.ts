// Adds the currently stored environment values named by their calls to ticks.
import { ownerOf } from "../model/access.ts";
import { workspaceKey } from "../model/environment.ts";
import type { Variable } from "../model/environment.ts";
import { cannotBeDecrypted } from "../model/secrets.ts";
import type { Tick, TickCall } from "../model/tick.ts";
import { environmentNames } from "../model/variables.ts";
import type { PendingRun } from "../store/records.ts";
import type { Store } from "../store/store.ts";

const DEFAULT_WORKSPACE = "global";

/** Values by name; null for one that cannot be decrypted. */
type Values = Readonly<Record<string, string | null>>;

/**
 * Takes values from the run's workspace, or else from the default one. The workspaces belong to
 * whoever ordered the run, and so to the owner of each of its calls.
 */
export async function withEnvironment(
  documents: Store["documents"],
  ticks: readonly Tick[],
  runs: readonly PendingRun[],
): Promise<Tick[]> {
  const owners = new Map(runs.map((run) => [run.result_id, ownerOf(run)]));
  const workspaces = new Map<string, Promise<Values>>();
  const valuesOf = (workspace: string): Promise<Values> => {
    const values = workspaces.get(workspace) ?? readWorkspace(documents, workspace);
    workspaces.set(workspace, values);
    return values;
  };
  const complete: Tick[] = [];
  for (const tick of ticks) {
    const names = environmentNames(tick.calls.flatMap(textsOf));
    const user = owners.get(tick.result_id);
    if (names.length === 0 || !user) {
      complete.push(tick);
      continue;
    }
    const workspace = workspaceIn(tick.context);
    const values = {
      ...(await valuesOf(workspaceKey(user, DEFAULT_WORKSPACE))),
      ...(await valuesOf(workspaceKey(user, workspace))),
    };
    complete.push(withValues(tick, names, values));
  }
  return complete;
}

/** A number, such as a year, names the workspace that `%%WORKSPACE%%` shows. */
function workspaceIn({ WORKSPACE: given }: Tick["context"]): string {
  const isName = typeof given === "string" || typeof given === "number";
  return isName ? String(given) : DEFAULT_WORKSPACE;
}

async function readWorkspace(documents: Store["documents"], workspace: string): Promise<Values> {
  const found = await documents.listAll("variable", "workspace", workspace);
  return Object.fromEntries(
    found.map(({ document, unreadable }) => {
      const { name, value } = (document as Variable).workspace_variable;
      return [name, unreadable ? null : value];
    }),
  );
}

function withValues(tick: Tick, names: readonly string[], values: Values): Tick {
  const known = names.filter((name) => Object.hasOwn(values, name));
  const environment = Object.fromEntries(
    known.flatMap((name) => {
      const value = values[name] ?? null;
      return value === null ? [] : [[name, value]];
    }),
  );
  const unreadable = known.filter((name) => values[name] === null);
  const calls = tick.calls.map((call): TickCall => {
    if (call.unable !== undefined) return call;
    const name = environmentNames(textsOf(call)).find((one) => unreadable.includes(one));
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
