// Closes the ledger: a run without an outcome in time is MISSED.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { ListedAgent } from "../model/agent.ts";
import { absenceOf } from "../model/missed.ts";
import type { MissedReason } from "../model/missed.ts";
import type { ExpiredRun } from "../store/records.ts";
import { missedFor, recordMissed } from "./missed.ts";
import type { SchedulerParts } from "./parts.ts";

const PAGE = 1000;

/** Records as MISSED the runs that expired before the instant. */
export async function reconcile(
  options: SchedulerParts,
  before: number,
  signal?: AbortSignal,
): Promise<void> {
  const { store } = options;
  const agents = await store.agents.list();
  for (let more = true; more && !signal?.aborted;) {
    const expired = await store.pendingRuns.listExpired(before, PAGE);
    more = expired.length === PAGE;
    await recordMissed(
      options,
      expired.map((run) => missedFor(reasonOf(run, agents), run)),
    );
    await nextTurn();
  }
}

function reasonOf(
  { published, location_id, latest_start }: ExpiredRun,
  agents: readonly ListedAgent[],
): MissedReason {
  if (!published) return "hub_unreachable";
  return absenceOf(agents, location_id, latest_start) ?? "agent_lost";
}
