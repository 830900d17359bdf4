import { expect, it } from "vitest";
import { createCall, sharedApi, startApi } from "../support/api.ts";
import { createManualClock } from "../support/manual-clock.ts";

const api = sharedApi();

it("lists no reports", async () => {
  const { status, body } = await api.send({ path: "/insights/" });
  expect([status, body]).toEqual([200, { meta: { more: false, next_cursor: "" }, results: [] }]);
  const { status: refused } = await api.send({ path: "/insights/?cursor=x" });
  expect(refused).toBe(400);
});

it.each([
  ["", "2026-02-01", "monthly"],
  ["?weekly=false&reverse=1", "2026-02-01", "monthly"],
  ["?weekly=true", "2026-08-10", "weekly"],
  ["?weekly=T&inc_org=t", "2026-08-10", "weekly"],
  ["?weekly=1", "2026-08-10", "weekly"],
])(
  "ranks the previous 8 closed periods with rank/%s: since %s, %s",
  async (query, start, period) => {
    const clock = createManualClock(Date.UTC(2026, 9, 8, 12));
    await using api = await startApi({ clock });
    const { status, body } = await api.send({
      path: `/insights/rank/${query}`,
    });
    expect([status, body]).toEqual([200, { meta: { start, period }, results: [] }]);
  },
);

it("answers {} for a call without a report, and 404 for an invisible call", async () => {
  const call = await createCall(api, { access: { settings: true } });
  const path = `/insights/call/${call.id}/`;
  const own = await api.send({ path });
  expect([own.status, own.body]).toEqual([200, {}]);
  const as = await api.caller("eve");
  expect((await api.send({ path, as })).status).toBe(404);
  expect((await api.send({ path: "/insights/call/none/" })).status).toBe(404);
  const report = await api.send({ path: "/insights/none/" });
  expect([report.status, report.body]).toEqual([
    404,
    { error_msg: "Insights report not found", error: 404 },
  ]);
});
