// Reads every call that a row of a report may refer to.
import type { Call } from "../../../../src/model/call.ts";
import { readAll } from "../../lists.ts";
import { useQuery } from "../../queries.ts";

/** Returns the calls by id, sorted by name; undefined while they are read. */
export const useCallsById = (): ReadonlyMap<string, Call> | undefined =>
  useQuery<ReadonlyMap<string, Call>>(["calls", "by id"], ({ signal }) => readCalls(signal)).data;

async function readCalls(signal: AbortSignal): Promise<ReadonlyMap<string, Call>> {
  const calls = await readAll<Call>("calls/", signal);
  const named = calls.toSorted((a, b) => a.meta.name.localeCompare(b.meta.name));
  return new Map(named.map((call) => [call.id, call]));
}
