// How long background work rests between its rounds.
import { expect, it } from "vitest";
import { createLogger } from "../../src/runtime/logger.ts";
import { createRounds } from "../../src/runtime/rounds.ts";
import { createManualClock } from "../support/manual-clock.ts";

it.each([
  ["as long as set after a quick round", 100, 5000],
  ["twenty times as long as a slow round", 1000, 20_000],
  ["45 seconds at most", 10_000, 45_000],
])("a pause lasts %s", async (_, tookMs, pauseMs) => {
  const clock = createManualClock(0);
  const rounds = createRounds({
    name: "sizes",
    everyMs: 5000,
    clock,
    log: createLogger("silent"),
    work: () => clock.advance(tookMs),
  });
  await rounds.start();
  await expect.poll(() => clock.waiting()).toEqual([tookMs + pauseMs]);
  await rounds.stop();
});
