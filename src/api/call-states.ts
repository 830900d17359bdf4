// Determines the current state of calls over the locations where they are deployed.
import { setImmediate as nextTurn } from "node:timers/promises";
import { isOwner } from "../model/access.ts";
import type { Actor } from "../model/access.ts";
import { stateNow } from "../model/call-state.ts";
import { chunksOf } from "../model/chunks.ts";
import { formatInstant } from "../model/instant.ts";
import { categoryOf } from "../model/result.ts";
import type { Store } from "../store/store.ts";

type CallOverviewStore = Store["callOverview"];
export type ListedCall = Awaited<ReturnType<CallOverviewStore["list"]>>[number];
export type Deployments = Awaited<ReturnType<CallOverviewStore["deployments"]>>;
type LatestResults = Awaited<ReturnType<CallOverviewStore["latest"]>>;
type Outcome = Omit<Awaited<ReturnType<CallOverviewStore["newestAt"]>>[number], "call_id">;

/** Per statement: a call may be deployed at many locations. */
const PLACES_AT_ONCE = 200;

interface Subjects {
  /** The calls whose results the reader may read. */
  readonly calls: readonly ListedCall[];
  readonly deployments: Deployments;
  readonly latest: LatestResults;
  readonly now: number;
}

/**
 * Returns the state of each call by its id. A call without deployments takes the locations of its
 * workflows; without any location to show, it takes that of its last result. A reader sees every
 * location with a result; others are shown only to those who may list a deployment there.
 */
export async function readStates(
  callOverview: CallOverviewStore,
  reader: Actor,
  { calls, deployments, latest, now }: Subjects,
) {
  const others = calls.filter(({ id }) => !deployments.has(id)).map(({ id }) => id);
  const ofWorkflows = others.length > 0 && (await callOverview.workflowDeployments(others));
  const deployed = calls.map((call) => {
    const own = deployments.get(call.id);
    const all = own ?? (ofWorkflows ? ofWorkflows.get(call.id) : undefined) ?? [];
    const listed = all.filter((one) => isOwner(reader, one) || (own && isOwner(reader, call)));
    return { id: call.id, all: idsOf(all), listed: idsOf(listed) };
  });
  const places = deployed.flatMap(({ id: call_id, all }) =>
    [...all].map((location_id) => ({ call_id, location_id })),
  );
  const newest = new Map<string, Outcome>();
  for (const some of chunksOf(places, PLACES_AT_ONCE)) {
    for (const { call_id, ...outcome } of await callOverview.newestAt(some, now))
      newest.set(placeOf(call_id, outcome.location_id), outcome);
    await nextTurn();
  }
  return new Map(
    deployed.map(({ id, all, listed }) => {
      const shown = [...all].toSorted().flatMap((location_id) => {
        const last = newest.get(placeOf(id, location_id));
        return last || listed.has(location_id) ? [locationOf(location_id, last)] : [];
      });
      const last = latest.get(id);
      const is_deployed = shown.length > 0;
      const locations = is_deployed || !last ? shown : [locationOf(last.location_id, last)];
      return [id, { ...stateNow(locations), is_deployed, locations }];
    }),
  );
}

const idsOf = (deployments: readonly { readonly location_id: string }[]): ReadonlySet<string> =>
  new Set(deployments.map(({ location_id }) => location_id));

const placeOf = (callId: string, locationId: string): string => `${callId} ${locationId}`;

const locationOf = (location_id: string, last: Outcome | undefined) => ({
  location_id,
  last: last ? shownResult(last) : null,
});

export const shownResult = ({ result_id, result, time, latency }: Outcome) => ({
  result_id,
  result,
  result_category: categoryOf(result),
  time: formatInstant(time),
  latency,
});
