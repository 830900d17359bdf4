import { expect, it } from "vitest";
import { createManualClock } from "../support/manual-clock.ts";
import { startApi } from "../support/api.ts";
import type { List, TestApi } from "../support/api.ts";

const NOON = Date.UTC(2026, 9, 1, 12);

async function startWithAgent(): Promise<TestApi> {
  const clock = createManualClock(NOON);
  const api = await startApi({ clock });
  for (const [agent_id, age] of [
    ["alive", 15_000],
    ["silent", 30_001],
  ] as const)
    await api.store.agents.record(
      {
        agent_id,
        location_id: "far",
        version: "1.2.3",
        in_flight: 2,
        sent: NOON - age,
      },
      { now: NOON - age },
    );
  return api;
}

/** What older agents do not report. */
const UNKNOWN = {
  held: 0,
  capacity: null,
  spool_reports: 0,
  spool_bytes: 0,
  clock_offset_ms: null,
  drain_ordered: false,
};

const alive = {
  agent_id: "alive",
  location_id: "far",
  online: true,
  state: "ONLINE",
  version: "1.2.3",
  last_seen: "2026-10-01T11:59:45.000000Z",
  in_flight: 2,
  ...UNKNOWN,
};
const silent = {
  ...alive,
  agent_id: "silent",
  online: false,
  state: "OFFLINE",
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

it("continues after a location that was removed meanwhile", async () => {
  await using api = await startWithAgent();
  const added = { id: "paris", label: "Paris", region: "Europe", created: NOON + 2 };
  await api.store.locations.insert(added);
  const { body } = await api.send<List>({ path: "/agents/?limit=2" });
  await api.store.locations.remove("far", NOON);
  const path = `/agents/?limit=2&cursor=${body.meta.next_cursor}`;
  const rest = await api.send<List>({ path });
  expect(rest.body.results.map(({ id }) => id)).toEqual(["paris"]);
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
  const said = {
    in_flight: 0,
    held: 12,
    capacity: 500,
    clock_offset_ms: -3.5,
  };
  const seen = {
    agent_id: "alive",
    location_id: "far",
    version: "1.2.4",
    sent: again,
    remote_addr: "198.51.100.7",
    state: "draining",
    spool: { reports: 3, bytes: 4096 },
    ...said,
  };
  await api.store.agents.record(seen, { now: again });
  await api.store.agents.orderDrain("alive", true);
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
    ...UNKNOWN,
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
          created: "2026-10-01T11:59:45.000000Z",
          last_update: "2026-10-01T11:59:50.000000Z",
        },
        state: "DRAINING",
        version: "1.2.4",
        last_seen: "2026-10-01T11:59:50.000000Z",
        ...said,
        spool_reports: 3,
        spool_bytes: 4096,
        drain_ordered: true,
      },
      agent,
    ],
    postman_locations: [],
    meta: {},
  });
});
