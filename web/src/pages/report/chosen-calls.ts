// Every call that a row may be of.
import type { Call } from "../../../../src/model/call.ts";
import { send, withQuery } from "../../api.ts";
import type { List } from "../../api.ts";
import { useQuery } from "../../queries.ts";

/** The interface's longest page. */
const PAGE = 1000;

/** By id, in the order of their names; undefined while they are read. */
export const useCallsById = (): ReadonlyMap<string, Call> | undefined =>
  useQuery<ReadonlyMap<string, Call>>(["calls", "by id"], ({ signal }) => readCalls(signal)).data;

async function readCalls(signal: AbortSignal): Promise<ReadonlyMap<string, Call>> {
  const calls: Call[] = [];
  let cursor: string | undefined;
  do {
    const path = withQuery("calls/", { limit: PAGE, cursor });
    const { meta, results } = await send<List<Call>>("GET", path, { signal });
    calls.push(...results);
    cursor = meta.more ? meta.next_cursor : undefined;
  } while (cursor !== undefined);
  const named = calls.toSorted((a, b) => a.meta.name.localeCompare(b.meta.name));
  return new Map(named.map((call) => [call.id, call]));
}
