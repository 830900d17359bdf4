// Reads what is wrong with a call now, and since when, also where the newest results do not tell.
import type { ListedResult } from "../../../../src/model/result.ts";
import { send, withQuery } from "../../api.ts";
import type { List } from "../../api.ts";
import type { CallNow } from "../../call-overview.ts";
import { useQuery } from "../../queries.ts";
import { newestFirst } from "../../run-times.ts";
import { MOST_LATEST, useLatestAt } from "./reads.ts";
import { begunAt, troubleOf } from "./trouble.ts";
import type { Trouble } from "./trouble.ts";

/** Locations that are looked at one by one. */
const MOST_LOCATIONS = 5;

interface TroubleNow {
  /** The results in which the trouble was found, the newest first. */
  readonly results: readonly ListedResult[];
  readonly trouble: Trouble | undefined;
}

/** Without the newest results or the state, finds nothing yet. */
export function useTrouble(
  id: string,
  latest: readonly ListedResult[] | undefined,
  state: CallNow | null | undefined,
): TroubleNow {
  const older = useLatestAt(id, latest ? unseenOf(state, latest) : []);
  const results = newestFirst([...(latest ?? []), ...older]);
  const deployed = state?.is_deployed ? state.locations : [];
  const found =
    latest &&
    troubleOf(
      results.map(({ meta }) => meta),
      latest.length < MOST_LATEST,
      deployed.map(({ location_id }) => location_id),
    );
  const begun = useBegun(id, found?.since === null ? found : undefined);
  return { results, trouble: found && begunAt(found, begun) };
}

/** Locations where the call does not pass, but that have none of the newest results. */
const unseenOf = (state: CallNow | null | undefined, latest: readonly ListedResult[]): string[] =>
  (state?.locations ?? [])
    .filter(({ last }) => last && last.result_category !== "PASS")
    .map(({ location_id }) => location_id)
    .filter((id) => !latest.some(({ meta }) => meta.location_id === id))
    .slice(0, MOST_LOCATIONS);

/** Reads when the trouble began, in epoch milliseconds; null or undefined: not known. */
function useBegun(id: string, trouble: Trouble | undefined): number | null | undefined {
  const isMissed = trouble?.isMissed ?? false;
  const at = trouble?.isPartial ? trouble.locations.toSorted() : [undefined];
  const isAsked = trouble !== undefined && at.length <= MOST_LOCATIONS;
  return useQuery<number | null>(
    ["calls", id, "results", "begun", at, isMissed],
    async ({ signal }) => {
      const begun = await Promise.all(at.map((place) => readBegun(id, place, isMissed, signal)));
      return begun.includes(null) ? null : Math.min(...(begun as number[]));
    },
    { enabled: isAsked },
  ).data;
}

/** So many results may be listed before the one sought. */
const FEW = 10;

/** Finds the first result after the last that ended otherwise, at a location or at all. */
async function readBegun(
  id: string,
  location_id: string | undefined,
  isMissed: boolean,
  signal: AbortSignal,
): Promise<number | null> {
  const read = async (query: Parameters<typeof withQuery>[1]) => {
    const path = withQuery(`calls/${id}/results/`, { location_id, ...query });
    return (await send<List<ListedResult>>("GET", path, { signal })).results;
  };
  const other = isMissed ? { type: "ALL" } : { category: "PASS" };
  const [before] = await read({ ...other, order: "desc", limit: 1 });
  const type = isMissed ? "MISSED" : "ALL";
  const after = await read({ type, from: before && timeOf(before), limit: FEW });
  const first = after.find(({ meta }) => meta.result_category !== "PASS");
  return first ? Date.parse(timeOf(first)) : null;
}

const timeOf = ({ meta }: ListedResult): string => meta.start_time ?? meta.due_time;
