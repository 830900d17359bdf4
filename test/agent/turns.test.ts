import { describe, expect, it } from "vitest";
import type { Place, Start } from "../../src/agent/starts.ts";
import { createTurns } from "../../src/agent/turns.ts";
import { createManualClock } from "../support/manual-clock.ts";

const NOW = Date.UTC(2026, 9, 1, 12, 0, 0);
const START: Omit<Start, "instant" | "ready" | "begin" | "withdrawn"> = {
  owner: "ann",
  isManual: false,
  isLong: false,
  latest: Infinity,
  group: {},
  received: NOW,
};

const turnsOfLoop = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1)
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
};

function newTurns(places = 100) {
  const clock = createManualClock(NOW);
  let lost = 0;
  const turns = createTurns({ ...clock, monotonic: () => clock.monotonic() + lost }, places);
  const done: string[] = [];
  const held: Place[] = [];
  const start = (name: string, instant = NOW, rest: Partial<Start> = {}): void =>
    turns.add({
      ...START,
      instant,
      ready: instant,
      begin(place) {
        if (place) held.push(place);
        done.push(place ? name : `${name}: too late`);
      },
      withdrawn: (reason) => void done.push(`${name}: ${reason.message}`),
      ...rest,
    });
  const endAtOnce =
    (name: string) =>
    (place?: Place): void => {
      done.push(name);
      place?.release();
    };
  const chore = (name: string, ms = 0): void =>
    void turns.chore().then(() => {
      lost += ms;
      done.push(name);
    });
  /** Takes two milliseconds of each turn for something else, as long as `goesOn` returns true. */
  const slowDown = (goesOn: () => boolean): void => {
    lost += 2;
    if (goesOn()) setImmediate(slowDown, goesOn);
  };
  return { clock, turns, held, done, start, endAtOnce, chore, slowDown };
}

describe("starts", () => {
  it("occur in due order, at their instants, never early", async () => {
    const { clock, done, start } = newTurns();
    start("third", NOW + 30);
    start("first", NOW + 10);
    start("second", NOW + 10);
    await clock.advance(9);
    await turnsOfLoop(5);
    expect(done).toEqual([]);
    await clock.advance(1);
    await turnsOfLoop(5);
    expect(done).toEqual(["first"]);
    await clock.advance(9);
    await turnsOfLoop(5);
    await clock.advance(10);
    await turnsOfLoop(5);
    expect(done).toEqual(["first", "second"]);
    await clock.advance(1);
    await turnsOfLoop(5);
    expect(done).toEqual(["first", "second", "third"]);
  });

  it("wait for a place, and take the next turn when one is free", async () => {
    const { held, done, start } = newTurns(1);
    start("first");
    start("second");
    await turnsOfLoop(5);
    expect(done).toEqual(["first"]);
    held[0]?.release();
    await turnsOfLoop(5);
    expect(done).toEqual(["first", "second"]);
  });

  it("expire after their latest instant, even if no place is free", async () => {
    const { clock, held, done, start } = newTurns(1);
    start("first");
    start("second", NOW, { latest: NOW + 60_000 });
    await turnsOfLoop(5);
    await clock.advance(60_000);
    await turnsOfLoop(5);
    expect(done).toEqual(["first"]);
    await clock.advance(1);
    await turnsOfLoop(5);
    expect(done).toEqual(["first", "second: too late"]);
    held[0]?.release();
    start("third");
    await turnsOfLoop(5);
    expect(done.at(-1)).toBe("third");
  });

  /** Runs calls that take 6 ms of the thread each. */
  async function learnCost({ clock, held, done, start }: ReturnType<typeof newTurns>) {
    for (let n = 0; n < 1000; n += 1) {
      start(`run ${n}`);
      await turnsOfLoop(2);
      clock.work(6);
      held.pop()?.release();
    }
    done.length = 0;
  }
  /** The milliseconds after which each of three runs starts, while all of them last. */
  async function startThree(
    { clock, done, start }: ReturnType<typeof newTurns>,
    instant: number,
    rest: Partial<Start> = {},
  ) {
    for (let n = 0; n < 3; n += 1) start(`${n}`, instant, rest);
    const starts: number[] = [];
    for (let ms = 0; starts.length < 3; ms += 1) {
      await turnsOfLoop(3);
      while (starts.length < done.length) starts.push(ms);
      await clock.advance(1);
    }
    return starts;
  }

  it("leave calls in flight the thread time that they need, and a bit more", async () => {
    const system = newTurns();
    await learnCost(system);
    expect(await startThree(system, NOW)).toEqual([0, 10, 20]);
  });

  it("come closer together the later they are", async () => {
    const system = newTurns();
    await learnCost(system);
    expect(await startThree(system, NOW - 6000)).toEqual([0, 4, 8]);
  });

  it("are as late as their call has been ready, however long ago their run was due", async () => {
    const system = newTurns();
    await learnCost(system);
    expect(await startThree(system, NOW - 60_000, { ready: NOW })).toEqual([0, 10, 20]);
  });

  it("leave no more space after a clock that was set back since they were ready", async () => {
    const system = newTurns();
    await learnCost(system);
    expect(await startThree(system, NOW, { ready: NOW + 3_600_000 })).toEqual([0, 10, 20]);
  });

  it("count a stall of the thread as one long call at most", async () => {
    const system = newTurns();
    await learnCost(system);
    const { clock, held, done, start } = system;
    start("stalled");
    await turnsOfLoop(3);
    clock.work(60_000);
    held.pop()?.release();
    done.length = 0;
    expect(await startThree(system, NOW)).toEqual([0, 11, 22]);
  });

  it("do not count as a call's what the thread does while none runs", async () => {
    const system = newTurns();
    await learnCost(system);
    const { clock, held, done, start } = system;
    for (let n = 0; n < 100; n += 1) {
      clock.work(60);
      start(`run ${n}`);
      await turnsOfLoop(3);
      clock.work(6);
      held.pop()?.release();
    }
    done.length = 0;
    expect(await startThree(system, NOW)).toEqual([0, 10, 20]);
  });

  it("do not wait for a clock that was set back", async () => {
    const { clock, done, start } = newTurns();
    start("first");
    await turnsOfLoop(3);
    await clock.setNow(NOW - 3_600_000);
    start("second", NOW - 3_600_000);
    await turnsOfLoop(3);
    expect(done).toEqual(["first", "second"]);
  });

  it("do not wait for each other while none runs", async () => {
    const { done, held, start } = newTurns();
    for (const name of ["first", "second"]) {
      start(name);
      await turnsOfLoop(3);
      held.pop()?.release();
    }
    expect(done).toEqual(["first", "second"]);
  });

  it("take turns of four while they come from a backlog", async () => {
    const { done, held, start } = newTurns();
    for (let n = 0; n < 9; n += 1) start(`late ${n}`, NOW - 10_000);
    for (let n = 0; n < 3; n += 1) start(`due ${n}`, NOW - 5000);
    const counts = new Set<number>();
    while (done.length < 12) {
      await turnsOfLoop(1);
      counts.add(done.length);
      for (const place of held.splice(0)) place.release();
    }
    expect([...counts].filter((count) => count > 0)).toEqual([4, 8, 10, 11, 12]);
  });

  it("wait while the thread is behind", async () => {
    const { done, start, slowDown } = newTurns();
    start("run");
    let behind = true;
    slowDown(() => behind);
    await turnsOfLoop(50);
    expect(done).toEqual([]);
    behind = false;
    await turnsOfLoop(5);
    expect(done).toEqual(["run"]);
  });

  it("wait while the thread is behind, no matter how late", async () => {
    const { done, start, slowDown } = newTurns();
    start("run", NOW - 30_000);
    let behind = true;
    slowDown(() => behind);
    await turnsOfLoop(50);
    expect(done).toEqual([]);
    behind = false;
    await expect.poll(() => done).toEqual(["run"]);
  });

  it("wait at most five seconds for a thread that stays behind", async () => {
    const { done, start, slowDown } = newTurns();
    start("run");
    let turns = 0;
    slowDown(() => (turns += 1) < 2600);
    await turnsOfLoop(2400);
    expect(done).toEqual([]);
    await turnsOfLoop(200);
    expect(done).toEqual(["run"]);
  });

  it("reject when their group is withdrawn", async () => {
    const { clock, turns, done, start } = newTurns();
    const [one, other] = [{}, {}];
    start("one", NOW + 10, { group: one });
    start("other", NOW + 20, { group: other });
    turns.withdraw(one, new Error("gone"));
    await clock.advance(20);
    await turnsOfLoop(5);
    expect(done).toEqual(["one: gone", "other"]);
    start("last", NOW + 1000, { group: other });
    turns.withdraw(other, new Error("gone"));
    expect(clock.waiting()).toEqual([]);
  });
});

describe("chores", () => {
  const names = (what: string, first: number, last: number): string[] =>
    Array.from({ length: last - first + 1 }, (_, n) => `${what} ${first + n}`);

  it("take turns with starts, four at a time, each in order", async () => {
    const { done, start, endAtOnce, chore } = newTurns();
    for (const name of names("chore", 1, 8)) chore(name);
    for (const name of names("run", 1, 3)) start(name, NOW, { begin: endAtOnce(name) });
    await turnsOfLoop(10);
    const [first, second] = [names("chore", 1, 4), names("chore", 5, 8)];
    expect(done).toEqual(["run 1", ...first, "run 2", ...second, "run 3"]);
  });

  it("leave the turn to others after a long one", async () => {
    const { done, chore } = newTurns();
    for (const name of names("chore", 1, 2)) chore(name, 0.6);
    for (const name of names("chore", 3, 4)) chore(name);
    await turnsOfLoop(1);
    expect(done).toEqual(["chore 1"]);
    await turnsOfLoop(1);
    expect(done).toEqual(names("chore", 1, 2));
    await turnsOfLoop(1);
    expect(done).toEqual(names("chore", 1, 4));
  });

  it("let starts go first while fewer than four wait", async () => {
    const { done, start, endAtOnce, chore } = newTurns();
    for (const name of names("chore", 1, 3)) chore(name);
    for (const name of names("run", 1, 3)) start(name, NOW, { begin: endAtOnce(name) });
    await turnsOfLoop(10);
    expect(done).toEqual([...names("run", 1, 3), ...names("chore", 1, 3)]);
  });
});
