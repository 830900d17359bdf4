// The hub's list of agents, as their heartbeats arrive.
import { expect, it } from "vitest";
import { createHeartbeatHandler } from "../../src/aggregator/heartbeats.ts";
import { AGENTS_KEPT_MS } from "../../src/model/agent.ts";
import { aHeartbeat, quiet } from "../bus/buses.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { T0 } from "../support/runs.ts";
import { createTestDatabase } from "../support/stores.ts";

it("forgets agents that have been silent for a week, within an hour of another's heartbeat", async () => {
  await using database = await createTestDatabase("sqlite");
  const clock = createManualClock(T0);
  const store = await database.open(clock);
  const handle = createHeartbeatHandler({ store, clock, log: quiet, version: "1.0.0" });
  const beat = (agent_id: string) =>
    handle({ ...aHeartbeat("paris"), agent_id, sent: clock.now() }, () => undefined);
  const listed = async () => (await store.agents.list()).map(({ agent_id }) => agent_id);
  await beat("gone");
  await clock.advance(AGENTS_KEPT_MS);
  await beat("staying");
  expect(await listed()).toEqual(["gone", "staying"]);
  await clock.advance(3_600_000);
  await beat("staying");
  expect(await listed()).toEqual(["staying"]);
});
