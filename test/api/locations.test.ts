import { expect, it } from "vitest";
import { createManualClock } from "../support/manual-clock.ts";
import { startApi } from "../support/api.ts";
import type { List, TestApi } from "../support/api.ts";

const NOON = Date.UTC(2026, 9, 1, 12);

async function startWithAgent(): Promise<TestApi> {
  const clock = createManualClock(NOON);
  const api = await startApi({ clock });
  for (const [agent_id, age] of [
    ["alive", 30_000],
    ["silent", 30_001],
  ] as const)
    await api.store.locations.recordHeartbeat(
      {
        agent_id,
        location_id: "far",
        version: "1.2.3",
        in_flight: 2,
        sent: NOON - age,
      },
      NOON - age,
    );
  return api;
}

const alive = {
  agent_id: "alive",
  location_id: "far",
  version: "1.2.3",
  online: true,
  last_seen: "2026-10-01T11:59:30.000000Z",
  in_flight: 2,
};
const silent = {
  ...alive,
  agent_id: "silent",
  online: false,
  last_seen: "2026-10-01T11:59:29.999000Z",
};

it("lists the locations, the default one first, with their agents", async () => {
  await using api = await startWithAgent();
  const { body } = await api.send({ path: "/agents/" });
  expect(body).toEqual({
    meta: { more: false, next_cursor: "" },
    results: [
      {
        id: "local",
        location_id: "local",
        label: "The local one",
        region: "here",
        created: "2026-10-01T12:00:00.000000Z",
        agents: [],
      },
      {
        id: "far",
        location_id: "far",
        label: "The far one",
        region: "here",
        created: "2026-10-01T12:00:00.001000Z",
        agents: [alive, silent],
      },
    ],
  });
});

it("pages through the locations", async () => {
  await using api = await startWithAgent();
  const first = await api.send<List>({ path: "/agents/?limit=1" });
  const second = await api.send<List>({
    path: `/agents?limit=1&cursor=${first.body.meta.next_cursor}`,
  });
  const ids = [...first.body.results, ...second.body.results].map(({ id }) => id);
  expect(ids).toEqual(["local", "far"]);
  expect(second.body.meta).toEqual({ more: false, next_cursor: "" });
});

it("describes regions, locations and agents as clients of the interface read them", async () => {
  await using api = await startWithAgent();
  await api.store.locations.insert({
    id: "paris",
    label: "Paris",
    region: "Europe",
    created: NOON + 2,
  });
  await api.store.locations.insert({ id: "nowhere", label: "?", region: "", created: NOON + 3 });
  const again = NOON - 10_000;
  const heartbeat = { agent_id: "alive", location_id: "far", version: "1.2.4", in_flight: 0 };
  const seen = { ...heartbeat, sent: again, remote_addr: "198.51.100.7" };
  await api.store.locations.recordHeartbeat(seen, again);
  const { body } = await api.send({ path: "/agents/info" });
  const agent = {
    id: "far",
    meta: {
      id: "silent",
      name: "The far one",
      remote_addr: "",
      created: "2026-10-01T11:59:29.999000Z",
      last_update: "2026-10-01T11:59:29.999000Z",
    },
    state: "OFFLINE",
    version: "1.2.3",
    last_seen: "2026-10-01T11:59:29.999000Z",
    in_flight: 2,
  };
  expect(body).toEqual({
    regions: [
      { id: "here", name: "here", locations: ["local", "far"] },
      { id: "Europe", name: "Europe", locations: ["paris"] },
      { id: "all", name: "All locations", locations: ["local", "far", "paris", "nowhere"] },
    ],
    locations: {
      local: "The local one",
      far: "The far one",
      paris: "Paris",
      nowhere: "?",
      "": "The local one",
    },
    agent_list: [
      {
        ...agent,
        meta: {
          ...agent.meta,
          id: "alive",
          remote_addr: "198.51.100.7",
          created: "2026-10-01T11:59:30.000000Z",
          last_update: "2026-10-01T11:59:50.000000Z",
        },
        state: "ONLINE",
        version: "1.2.4",
        last_seen: "2026-10-01T11:59:50.000000Z",
        in_flight: 0,
      },
      agent,
    ],
    postman_locations: [],
    meta: {},
  });
});
