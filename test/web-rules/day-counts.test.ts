// What the page of a call says about the last 24 hours.
import { expect, it } from "vitest";
import { countsOf } from "../../web/src/pages/call/day-counts.ts";

const hour = (count: number, pass_percent: number) => ({ count, adv_stat: { pass_percent } });

it("counts missed runs in hours without any call, too", () => {
  const every = [hour(6, 100), hour(3, 200 / 3)];
  const missed = [{ count: 6 }, { count: 3 }];
  expect(countsOf(every, missed)).toEqual({ made: 9, passed: 8, missed: 9 });
});
