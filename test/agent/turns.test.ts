import { describe, expect, it } from "vitest";
import { createTurns } from "../../src/agent/turns.ts";
import type { Place, Start } from "../../src/agent/turns.ts";
import { createManualClock } from "../support/manual-clock.ts";

const NOW = Date.UTC(2026, 9, 1, 12, 0, 0);
const START: Omit<Start, "instant" | "begin" | "withdrawn"> = {
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
      ...rest,
      begin(place) {
        if (place) held.push(place);
        done.push(place ? name : `${name}: too late`);
      },
      withdrawn: (reason) => void done.push(`${name}: ${reason.message}`),
    });
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
  return { clock, turns, held, done, start, chore, slowDown };
}

describe("starts", () => {
  it("come in due order, at their instants, never early", async () => {
    const { clock, done, start } = newTurns();
    start("third", NOW + 20);
    start("first", NOW + 10);
    start("second", NOW + 10);
    await clock.advance(9);
    await turnsOfLoop(5);
    expect(done).toEqual([]);
    await clock.advance(1);
    await turnsOfLoop(5);
    expect(done).toEqual(["first", "second"]);
    await clock.advance(10);
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

  it("take a turn each", async () => {
    const { done, start } = newTurns();
    for (let n = 0; n < 10; n += 1) start(`run ${n}`);
    await turnsOfLoop(3);
    expect(done.length).toBeLessThanOrEqual(3);
    await turnsOfLoop(10);
    expect(done).toHaveLength(10);
  });

  it("take turns of four while they come from a backlog", async () => {
    const { done, start } = newTurns();
    for (let n = 0; n < 9; n += 1) start(`late ${n}`, NOW - 1000);
    for (let n = 0; n < 3; n += 1) start(`due ${n}`, NOW - 999);
    const counts = new Set<number>();
    while (done.length < 12) {
      await turnsOfLoop(1);
      counts.add(done.length);
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
    const { done, start, chore } = newTurns();
    for (const name of names("chore", 1, 8)) chore(name);
    for (const name of names("run", 1, 3)) start(name);
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
    const { done, start, chore } = newTurns();
    for (const name of names("chore", 1, 3)) chore(name);
    for (const name of names("run", 1, 3)) start(name);
    await turnsOfLoop(10);
    expect(done).toEqual([...names("run", 1, 3), ...names("chore", 1, 3)]);
  });
});
