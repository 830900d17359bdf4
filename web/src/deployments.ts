// Reads deployments, tells when they run, and proposes a delay for a new one.
import type { Deployment } from "../../src/model/deployment.ts";
import { CHANGE_LEAD_MS, nextDueTimes } from "../../src/model/slots.ts";
import type { Cadence } from "../../src/model/slots.ts";
import { proposeDelay } from "../../src/model/spread.ts";
import type { Proposal } from "../../src/model/spread.ts";
import type { List } from "./api.ts";
import { useAll } from "./lists.ts";
import { useRead } from "./queries.ts";
import type { Target } from "./runs.ts";

export type { Deployment };

/** Reads the deployments of one target; the limit is enough for every location. */
export const useDeployments = ({ kind, id }: Pick<Target, "kind" | "id">) =>
  useRead<List<Deployment>>(
    ["deployments", kind, id],
    `deployments/${kind}/${encodeURIComponent(id)}/?limit=1000`,
  );

/** Reads the deployments of the signed-in user; undefined: not known. */
export const useOwnDeployments = (): readonly Deployment[] | undefined =>
  useAll<Deployment>(["deployments", "own"], "deployments/").data;

/** Proposes the delay that coincides with the fewest of `others` at these locations. */
export const proposalAt = (
  locations: readonly string[],
  frequency: number,
  others: readonly Deployment[],
): Proposal =>
  proposeDelay(
    frequency,
    others
      .map(({ deployment }) => deployment)
      .filter(({ location_id }) => locations.includes(location_id)),
  );

/** Returns the next `count` due times of a schedule that is saved at `now`. */
export const runsOfSaved = (
  cadence: Cadence,
  isNew: boolean,
  now: number,
  count: number,
): number[] =>
  nextDueTimes({ ...cadence, active_from: now + (isNew ? 0 : CHANGE_LEAD_MS) + 1 }, now, count);

/** Returns when a deployment is next due. */
export function nextRunOf({ meta, deployment }: Deployment, now: number): number {
  const lead = meta.created === meta.last_update ? 0 : CHANGE_LEAD_MS;
  const active_from = Date.parse(meta.last_update) + lead + 1;
  return nextDueTimes({ ...deployment, active_from }, now, 1)[0] ?? now;
}
