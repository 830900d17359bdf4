// Builds the overview of calls: each with its state and its last 24 hours.
import { setImmediate as nextTurn } from "node:timers/promises";
import { canRead, isOwner } from "../model/access.ts";
import type { Actor } from "../model/access.ts";
import type { Call } from "../model/call.ts";
import { dayOf, firstHour } from "../model/call-overview.ts";
import { chunksOf } from "../model/chunks.ts";
import type { StoredDocument } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { readStates, shownResult } from "./call-states.ts";
import type { Deployments, ListedCall } from "./call-states.ts";

/** Per batch: on SQLite, reading one blocks the process, and the scheduler's beat in it. */
const CALLS_AT_ONCE = 50;

export async function overviewOf(
  store: Store,
  reader: Actor,
  calls: readonly ListedCall[],
): Promise<readonly unknown[]> {
  const now = await store.now();
  const shown: unknown[] = [];
  for (const some of chunksOf(calls, CALLS_AT_ONCE)) {
    shown.push(...(await overviewOfSome(store, reader, some, now)));
    await nextTurn();
  }
  return shown;
}

async function overviewOfSome(
  { callOverview }: Store,
  reader: Actor,
  calls: readonly ListedCall[],
  now: number,
): Promise<readonly unknown[]> {
  const from = firstHour(now);
  const opens = (part: "results" | "stats") => (call: ListedCall) =>
    canRead(reader, { ...call, community: call.opens[part] });
  const idsOf = (some: readonly ListedCall[]) => some.map(({ id }) => id);
  const open = calls.filter(opens("results"));
  const latest = await callOverview.latest(idsOf(open), now);
  await nextTurn();
  const deployments = await callOverview.deployments(idsOf(calls));
  const states = await readStates(callOverview, reader, { calls: open, deployments, latest, now });
  const readable = calls.filter(opens("stats"));
  const hours = await callOverview.hours(idsOf(readable), from);
  await nextTurn();
  const located = { deployments, readable, from };
  const locationsOf = await readLocations(callOverview, reader, located);
  const isReadable = new Set(idsOf(readable));
  return calls.map((call) => {
    const { id, name, tags, method, domain, owner } = call;
    const last = latest.get(id);
    const { counts = [], buckets = new Map<number, number>() } = hours.get(id) ?? {};
    return {
      id,
      name,
      tags,
      method,
      domain,
      owner,
      locations: [...new Set(locationsOf(call))].toSorted(),
      state: last ? { ...shownResult(last), location_id: last.location_id } : null,
      now: states.get(id) ?? null,
      day: isReadable.has(id) ? dayOf(from, counts, buckets) : null,
    };
  });
}

interface Located {
  readonly deployments: Deployments;
  /** The calls whose statistics `reader` may read. */
  readonly readable: readonly ListedCall[];
  readonly from: number;
}

/** Finds the locations of a call: those of its deployments or, without any, where it ran. */
async function readLocations(
  callOverview: Store["callOverview"],
  reader: Actor,
  { deployments, readable, from }: Located,
): Promise<(call: ListedCall) => readonly string[]> {
  // As in the lists of deployments: the reader's own, and those of the reader's own calls.
  const deployed = (call: ListedCall) =>
    (deployments.get(call.id) ?? [])
      .filter((each) => isOwner(reader, each) || isOwner(reader, call))
      .map(({ location_id }) => location_id);
  const others = readable.filter((call) => deployed(call).length === 0).map(({ id }) => id);
  const ran = others.length > 0 ? await callOverview.locations(others, from) : undefined;
  return (call) => ran?.get(call.id) ?? deployed(call);
}

export function asListed({ document, ...stored }: StoredDocument<Call>): ListedCall {
  const { id, owner, owner_org, org, community } = stored;
  const { meta, request, access } = document;
  const { name, tags } = meta;
  const { method } = request;
  const opens = { results: access.results, stats: access.stats };
  return { id, owner, owner_org, org, community, name, tags, method, domain: meta.domain, opens };
}
