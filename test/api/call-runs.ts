// Records outcomes for deployed calls, and collects ticks, without a scheduler and agents.
import type { Tick } from "../../src/model/tick.ts";
import { create } from "../support/api.ts";
import type { Caller, TestApi } from "../support/api.ts";
import { aReport, aRun } from "../support/runs.ts";
import type { Outcome } from "../support/runs.ts";

/** Records an outcome, by default at `local` and due now. Returns the result's id. */
export async function record(
  { store }: TestApi,
  target_id: string,
  outcome: Outcome,
): Promise<string> {
  const { start: due_time = await store.now(), location_id = "local" } = outcome;
  const run = aRun({ target_id, due_time, location_id });
  await store.pendingRuns.insert([run]);
  await store.results.record([aReport(run, outcome)]);
  return run.result_id;
}

/** Collects the ticks that an agent of the location would get. */
export async function ticksOf({ bus }: TestApi, location: string): Promise<readonly Tick[]> {
  const ticks: Tick[] = [];
  await bus.consumeTicks(location, async (some) => void ticks.push(...some));
  return ticks;
}

export const deploy = (
  api: TestApi,
  target_id: string,
  location_id: string,
  as: Caller = api.ann,
): Promise<{ id: string }> =>
  create(api, "/deployments/", { deployment: { target_id, location_id, frequency: 60 } }, as);
