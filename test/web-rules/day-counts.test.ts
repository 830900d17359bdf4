// What the page of a call says about the last 24 hours.
import { expect, it } from "vitest";
import { countsOf } from "../../web/src/pages/call/day-counts.ts";

const NO_PHASE = {
  dns: null,
  tcp: null,
  handshake: null,
  upload: null,
  processing: null,
  download: null,
};

const hour = (count: number, pass_percent: number, missed: number) => ({
  count,
  adv_stat: { p50: 1, p75: 1, p90: 1, p95: 1, p99: 1, missed, pass_percent, phases: NO_PHASE },
});

it("counts what was missed in hours without any call, too", () => {
  const every = [hour(6, 100, 0), hour(3, 200 / 3, 3)];
  const missed = [{ count: 6 }, { count: 3 }];
  expect(countsOf(every, missed)).toEqual({ made: 9, passed: 8, missed: 9 });
});
