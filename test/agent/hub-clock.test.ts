import { describe, expect, it } from "vitest";
import { bestOf, createHubClock, withMeasurement } from "../../src/agent/hub-clock.ts";
import type { Measured, Measurement } from "../../src/agent/hub-clock.ts";
import { createManualClock } from "../support/manual-clock.ts";

const NOW = Date.UTC(2026, 9, 1, 12, 0, 0);
const TEN_MINUTES = 600_000;

/**
 * Simulates a machine whose clock is wrong by `wrongBy` ms, and a hub that answers after a round
 * trip of `tripMs`.
 */
function newMachine(wrongBy: number) {
  const machine = createManualClock(NOW + wrongBy);
  const clock = createHubClock(machine);
  const hubNow = (): number => NOW + machine.monotonic();
  /** Returns whether the answer, which is wrong by `lie` ms, must be confirmed. */
  const askOnce = async (tripMs = 0, lie = 0): Promise<boolean> => {
    const sent = machine.monotonic();
    await machine.advance(tripMs / 2);
    const hubTime = hubNow() + sleptMs + lie;
    await machine.advance(tripMs / 2);
    return clock.learn({ sent, hubTime, received: machine.monotonic() });
  };
  /** Asks until an answer needs no confirmation, as heartbeats do. */
  const ask = async (tripMs = 0): Promise<void> => {
    for (let asked = 1; (await askOnce(tripMs)) && asked < 8; asked += 1);
  };
  let sleptMs = 0;
  /** Stops the monotonic clock for this time, while the wall clock goes on. */
  const sleep = async (ms: number): Promise<void> => {
    sleptMs += ms;
    await machine.setNow(machine.now() + ms);
  };
  return { machine, clock, hubNow: () => hubNow() + sleptMs, ask, askOnce, sleep };
}

describe("the agent's clock", () => {
  it("is the machine's until the hub answers", async () => {
    const { machine, clock } = newMachine(TEN_MINUTES);
    await machine.setNow(NOW + 1234);
    expect([clock.now(), clock.offset()]).toEqual([NOW + 1234, 0]);
  });

  it.each([
    ["ten minutes ahead", TEN_MINUTES, 0, -TEN_MINUTES],
    ["ten minutes behind", -TEN_MINUTES, 0, TEN_MINUTES],
    ["years behind", -NOW, 40, NOW],
    ["within the error of a slow answer", 20, 40, 0],
    ["beyond the error of a slow answer", 22, 40, -22],
    ["right", 0, 0, 0],
    ["off by less than the resolution", 1, 0, 0],
    ["off by what NTP leaves", 10, 0, 0],
    ["off by more than NTP leaves", 11, 0, -11],
  ])("has the right offset when the machine's clock is %s", async (_, wrongBy, trip, offset) => {
    const { machine, clock, ask } = newMachine(wrongBy);
    await ask(trip);
    expect(clock.offset()).toBe(offset);
    expect(clock.now()).toBe(machine.now() + offset);
  });

  it("keeps the hub's time when the machine's wrong clock is set", async () => {
    const { machine, clock, hubNow, ask } = newMachine(TEN_MINUTES);
    await ask();
    for (const set of [NOW, NOW - 86_400_000, NOW + 86_400_000]) {
      await machine.setNow(set);
      await machine.advance(100);
      expect(clock.now()).toBe(hubNow());
    }
  });

  it("follows the machine's clock again once it is right", async () => {
    const { machine, clock, hubNow, ask } = newMachine(TEN_MINUTES);
    await ask();
    await machine.setNow(hubNow());
    await ask();
    expect(clock.wasSet()).toBe(true);
    await ask();
    expect(clock.offset()).toBe(0);
    await machine.setNow(machine.now() + 50); // like a clock that is slewed
    expect(clock.now()).toBe(machine.now());
  });

  it.each([TEN_MINUTES, -TEN_MINUTES])(
    "keeps the hub's time when the machine's right clock is set, until the hub answers (%i ms)",
    async (wrongBy) => {
      const { machine, clock, hubNow, ask } = newMachine(0);
      await ask();
      await machine.setNow(NOW + wrongBy);
      const heard = [[clock.now(), clock.offset()]];
      expect(clock.wasSet()).toBe(true);
      heard.push([clock.now(), clock.offset()]);
      await ask();
      heard.push([clock.now(), clock.offset()]);
      expect(heard).toEqual(heard.map(() => [hubNow(), -wrongBy]));
    },
  );

  it("reports once that the machine's clock was set", async () => {
    const { machine, clock } = newMachine(0);
    await machine.advance(86_400_000);
    expect(clock.wasSet()).toBe(false);
    await machine.setNow(machine.now() - 5000);
    expect([clock.wasSet(), clock.wasSet()]).toEqual([true, false]);
  });

  it("rounds down to whole milliseconds", () => {
    const machine = createManualClock(0);
    const clock = createHubClock(machine);
    for (let answers = 0; answers < 3; answers += 1)
      clock.learn({ sent: 0, received: 0, hubTime: NOW + 0.9 });
    expect(clock.now()).toBe(NOW);
  });
});

describe("a wait for an instant", () => {
  const startWait = (clock: ReturnType<typeof createHubClock>, at: number) => {
    const cancel = new AbortController();
    const wait = { cancel, startedAt: undefined as number | undefined };
    const ended = clock.waitUntil(at, cancel.signal).then(() => {
      wait.startedAt = clock.now();
    });
    return Object.assign(wait, { ended });
  };

  it.each([TEN_MINUTES, -TEN_MINUTES])(
    "ends by the hub's time when the machine's clock is wrong by %i ms",
    async (wrongBy) => {
      const { machine, clock, ask } = newMachine(wrongBy);
      await ask();
      const wait = startWait(clock, NOW + 1000);
      expect(machine.waiting()).toEqual([NOW + wrongBy + 1000]);
      await machine.advance(999);
      expect(wait.startedAt).toBeUndefined();
      await machine.advance(1);
      expect(wait.startedAt).toBe(NOW + 1000);
    },
  );

  it.each([TEN_MINUTES, -TEN_MINUTES])(
    "adjusts when the hub answers during it (%i ms)",
    async (wrongBy) => {
      const { machine, clock, hubNow, ask } = newMachine(wrongBy);
      const wait = startWait(clock, NOW + Math.max(wrongBy, 0) + 90_000);
      await machine.advance(10_000);
      await ask();
      const left = NOW + Math.max(wrongBy, 0) + 90_000 - hubNow();
      await machine.advance(left - 1);
      expect(wait.startedAt).toBeUndefined();
      await machine.advance(1);
      expect(wait.startedAt).toBe(hubNow());
    },
  );

  it("is not rescheduled by a small correction", async () => {
    const { machine, clock, hubNow, ask } = newMachine(TEN_MINUTES);
    await ask(10);
    const wait = startWait(clock, NOW + 60_000);
    const [armed] = machine.waiting();
    const sent = machine.monotonic();
    clock.learn({ sent, received: sent, hubTime: hubNow() - 3 });
    expect(clock.now()).toBe(hubNow() - 3);
    expect(machine.waiting()).toEqual([armed]);
    await machine.advance(60_000);
    await wait.ended;
    expect(wait.startedAt).toBeLessThan(NOW + 60_025);
  });

  it("ends at once when an answer shows that the instant has passed", async () => {
    const { clock, ask } = newMachine(-TEN_MINUTES);
    const wait = startWait(clock, NOW - 1);
    await ask();
    await wait.ended;
    expect(wait.startedAt).toBe(NOW);
  });

  it.each([NOW - TEN_MINUTES, NOW + 5000, NOW + 2 * TEN_MINUTES])(
    "keeps to the hub's time when the machine's wrong clock is set (to %i)",
    async (set) => {
      const { machine, clock, ask } = newMachine(TEN_MINUTES);
      await ask();
      const wait = startWait(clock, NOW + 1000);
      await machine.setNow(set);
      clock.wasSet();
      await machine.advance(999);
      expect(wait.startedAt).toBeUndefined();
      await machine.advance(1);
      expect(wait.startedAt).toBe(NOW + 1000);
    },
  );

  it("ends at once for an instant in the past", async () => {
    const { machine, clock } = newMachine(0);
    await clock.waitUntil(NOW);
    expect(machine.waiting()).toEqual([]);
  });

  it("rejects with the reason of its signal", async () => {
    const { machine, clock } = newMachine(0);
    const reason = new Error("enough");
    const wait = startWait(clock, NOW + 1000);
    wait.cancel.abort(reason);
    await expect(wait.ended).rejects.toBe(reason);
    await expect(clock.waitUntil(NOW - 1, wait.cancel.signal)).rejects.toBe(reason);
    expect(machine.waiting()).toEqual([]);
  });
});

it.each([TEN_MINUTES, -TEN_MINUTES])(
  "a pause keeps its length when the hub answers meanwhile (%i ms)",
  async (wrongBy) => {
    const { machine, clock, ask } = newMachine(wrongBy);
    let isOver = false;
    const paused = clock.pause(90_000).then(() => (isOver = true));
    await machine.advance(10_000);
    await ask();
    await machine.advance(79_999);
    expect(isOver).toBe(false);
    await machine.advance(1);
    await paused;
  },
);

/** Seeded, so that the experiment can be repeated. */
function createRandom(seed: number): (least: number, most: number) => number {
  let state = seed;
  return (least, most) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return least + (state / 2 ** 32) * (most - least);
  };
}

describe.each([1, 2, 3, 4, 5])("whatever happens (seed %i), the agent's clock", (seed) => {
  it("stays within 60 ms of the hub's time while at most two answers in a row lie", async () => {
    const random = createRandom(seed);
    const wrongBy = [0, random(-1e8, 1e8)][seed % 2] ?? 0;
    const { machine, clock, hubNow, ask, askOnce } = newMachine(Math.round(wrongBy));
    await ask();
    for (let n = 0; n < 200; n += 1) {
      await machine.advance(Math.round(random(0, 20_000)));
      if (random(0, 1) < 0.1) await machine.setNow(Math.round(NOW + random(-1e9, 1e9)));
      const lies = Math.floor(random(0, 3));
      for (let lie = 0; lie < lies; lie += 1)
        await askOnce(2 * Math.round(random(0, 500)), random(-7_200_000, 7_200_000));
      await askOnce(2 * Math.round(random(0, 50)));
      expect(Math.abs(clock.now() - hubNow())).toBeLessThan(60);
    }
    await machine.setNow(hubNow());
    await ask();
    expect(Math.abs(clock.now() - hubNow())).toBeLessThan(60);
  });

  it("is right after three answers when the machine slept", async () => {
    const random = createRandom(seed);
    const { machine, clock, hubNow, ask, askOnce, sleep } = newMachine(TEN_MINUTES * (seed % 2));
    await ask();
    for (let n = 0; n < 20; n += 1) {
      await machine.advance(Math.round(random(0, 60_000)));
      await sleep(Math.round(random(1000, 1e8)));
      for (let answers = 0; answers < 3; answers += 1) await askOnce(2 * Math.round(random(0, 20)));
      expect(Math.abs(clock.now() - hubNow())).toBeLessThan(60);
    }
  });
});

it("an answer wrong by an hour does not move the agent's clock, even if it is the first", async () => {
  const { machine, clock, hubNow, askOnce } = newMachine(0);
  expect(await askOnce(10, 3_600_000)).toBe(true);
  expect(clock.now()).toBe(hubNow());
  expect(await askOnce(10)).toBe(false);
  await machine.advance(60_000);
  expect(await askOnce(10, -3_600_000)).toBe(true);
  expect(clock.now()).toBe(hubNow());
});

const at = (at: number, ahead: number, error: number): Measurement => ({
  at,
  ahead,
  error,
});

/** Assumes that the machine's clock agrees with its monotonic one. */
const measuring = (latest: readonly Measurement[]): Measured =>
  latest.reduce<Measured>((before, each) => withMeasurement(before, each, 0), {
    believed: [],
    doubted: [],
  });

describe("of several measurements", () => {
  it.each<[string, Measurement[], number | undefined]>([
    ["there is none without any", [], undefined],
    ["the only one is best", [at(0, 7, 5)], 7],
    ["that of the shortest round trip is", [at(0, 7, 5), at(10, 8, 3), at(20, 9, 4)], 8],
    ["of two equal ones the earlier is", [at(0, 7, 5), at(0, 8, 5)], 7],
    [
      "a new one is once the error of the old one has grown with age",
      [at(0, 7, 5), at(100_000, 8, 6)],
      8,
    ],
  ])("%s", (_, kept, ahead) => {
    expect(bestOf(kept, 100_000)?.ahead).toBe(ahead);
  });

  it.each<[string, Measurement[], believed: number[], doubted: number[]]>([
    ["the first is believed if the machine's clock agrees", [at(0, 7, 5)], [7], []],
    ["the first is doubted if the machine's clock does not", [at(0, 70, 5)], [], [70]],
    ["ones that agree are believed together", [at(0, 7, 5), at(1, 16, 4)], [7, 16], []],
    ["one that contradicts them is doubted", [at(0, 7, 5), at(1, 40, 5)], [7], [40]],
    ["so is a second one", [at(0, 7, 5), at(1, 40, 5), at(2, 42, 5)], [7], [40, 42]],
    [
      "three that agree replace what was believed, even if less exact",
      [at(0, 7, 5), at(1, 40, 17), at(2, 42, 17), at(3, 44, 17)],
      [40, 42, 44],
      [],
    ],
    [
      "one that agrees with what is believed ends the doubt",
      [at(0, 7, 5), at(1, 40, 5), at(2, 42, 5), at(3, 8, 5), at(4, 40, 5)],
      [7, 8],
      [40],
    ],
    [
      "ones that contradict each other confirm nothing",
      [at(0, 7, 5), at(1, 40, 5), at(2, 80, 5), at(3, 120, 5), at(4, 40, 5)],
      [7],
      [40],
    ],
    ["only the best one is compared", [at(0, 9, 90), at(1, 7, 5), at(2, 60, 5)], [9, 7], [60]],
    ["one after a round trip of 2 s counts", [at(0, 7, 1001)], [7], []],
    ["one after a longer one does not", [at(0, 7, 1001.5)], [], []],
  ])("%s", (_, latest, believed, doubted) => {
    const after = measuring(latest);
    expect(after.believed.map(({ ahead }) => ahead)).toEqual(believed);
    expect(after.doubted.map(({ ahead }) => ahead)).toEqual(doubted);
  });

  it("the last eight are kept", () => {
    const ten = Array.from({ length: 10 }, (_, n) => at(n, n + 1, 100));
    expect(measuring(ten).believed.map(({ ahead }) => ahead)).toEqual([3, 4, 5, 6, 7, 8, 9, 10]);
  });
});
