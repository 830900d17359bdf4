// Reads the calls that workflows run or may run, and those of reports.
import type { Call } from "../../src/model/call.ts";
import { missingOf, send } from "./api.ts";
import { readAll } from "./lists.ts";
import { useQuery } from "./queries.ts";
import { isMine, session } from "./session.ts";

/** Calls by id: null for one that the reader may not see. Undefined while they are read. */
export type CallNames = ReadonlyMap<string, Call | null> | undefined;

/** Reads the calls with these ids; of other owners' calls, only shared ones. */
export function useCalls(ids: readonly string[]): CallNames {
  const asked = [...new Set(ids)].toSorted();
  return useQuery<CallNames>(["calls", "named", asked], async ({ signal }) => {
    const read = asked.map(async (id) => [id, await callOf(id, signal)] as const);
    return new Map(await Promise.all(read));
  }).data;
}

async function callOf(id: string, signal: AbortSignal): Promise<Call | null> {
  try {
    return await send<Call>("GET", `calls/${encodeURIComponent(id)}/`, { signal });
  } catch (cause) {
    if (missingOf(cause)) return null;
    throw cause;
  }
}

const isRunnable = ({ meta, access }: Call): boolean =>
  isMine(meta) || (access.org && session.value?.org != null);

/** Reads every call that the reader's workflows may run, by name. Undefined while they are read. */
export const useRunnableCalls = (enabled: boolean): readonly Call[] | undefined =>
  useQuery<readonly Call[]>(
    ["calls", "runnable"],
    async ({ signal }) => (await readByName(signal)).filter(isRunnable),
    { enabled },
  ).data;

/** Reads every call that a report may show, by name. Undefined while they are read. */
export const useCallsById = (): ReadonlyMap<string, Call> | undefined =>
  useQuery<ReadonlyMap<string, Call>>(
    ["calls", "by id"],
    async ({ signal }) => new Map((await readByName(signal)).map((call) => [call.id, call])),
  ).data;

async function readByName(signal: AbortSignal): Promise<readonly Call[]> {
  const calls = await readAll<Call>("calls/", signal);
  return calls.toSorted((a, b) => a.meta.name.localeCompare(b.meta.name));
}
