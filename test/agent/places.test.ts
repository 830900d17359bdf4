import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createPlaces } from "../../src/agent/places.ts";
import type { Claim } from "../../src/agent/places.ts";

const claim = (owner: string, rest: Partial<Claim> = {}): Claim => ({
  owner,
  isManual: false,
  isLong: false,
  instant: 0,
  latest: Infinity,
  ...rest,
});
const claims = (count: number, owner: string, rest: Partial<Claim> = {}): Claim[] =>
  Array.from({ length: count }, () => claim(owner, rest));

type Places = ReturnType<typeof createPlaces<Claim>>;

function newPlaces(count: number, added: readonly Claim[]): Places {
  const places = createPlaces<Claim>(count);
  for (const each of added) places.add(each);
  return places;
}

/** Gives out places for as long as a claim gets one; returns the claims in order. */
function takeAll(places: Places, now = 0): Claim[] {
  const taken: Claim[] = [];
  for (let next = places.next(now); next; next = places.next(now)) {
    places.take(next);
    taken.push(next);
  }
  return taken;
}

const owners = (taken: readonly Claim[]): string[] => taken.map(({ owner }) => owner);

describe("a place", () => {
  it("goes to scheduled runs before manual ones, however long these wait", () => {
    const places = newPlaces(10, [
      claim("a", { isManual: true }),
      claim("b", { instant: 5 }),
      claim("c", { instant: 6 }),
    ]);
    expect(owners(takeAll(places, 10))).toEqual("bca".split(""));
  });

  it("goes to the owner that holds the fewest, then to the run that was due first", () => {
    const places = newPlaces(12, [
      ...claims(4, "a"),
      ...claims(2, "b", { instant: 1 }),
      claim("c", { instant: 3 }),
      claim("d", { instant: 2 }),
    ]);
    expect(owners(takeAll(places, 10))).toEqual("abdcabaa".split(""));
  });

  it("goes to a lone owner without limit", () => {
    const places = newPlaces(20, claims(30, "a"));
    expect(takeAll(places)).toHaveLength(20);
  });

  it("goes without limit to an owner that is alone again", () => {
    const other = claim("b");
    const places = newPlaces(20, [...claims(30, "a"), other]);
    expect(owners(takeAll(places)).filter((owner) => owner === "a")).toHaveLength(16);
    places.release(other);
    expect(owners(takeAll(places))).toEqual(Array(4).fill("a"));
  });

  it("is kept for other owners whose runs are not yet due", () => {
    const places = newPlaces(20, [...claims(30, "a"), ...claims(4, "b", { instant: 700 })]);
    expect(owners(takeAll(places))).toEqual(Array(16).fill("a"));
    expect(owners(takeAll(places, 700))).toEqual("bbbb".split(""));
  });

  it.each([
    ["manual", { isManual: true }],
    ["long", { isLong: true }],
  ])(
    "goes to %s runs in one half of the places, and to one owner's in a share of it",
    (_, kind) => {
      const places = newPlaces(20, claims(30, "a", kind));
      expect(takeAll(places)).toHaveLength(8);
      for (const each of [...claims(30, "b", kind), ...claims(5, "c")]) places.add(each);
      expect(owners(takeAll(places)).toSorted()).toEqual("bbccccc".split(""));
    },
  );

  it("goes to any kind of run if it is the only place", () => {
    const manual = claim("a", { isManual: true, isLong: true });
    expect(newPlaces(1, [manual]).next(0)).toBe(manual);
  });

  it("passes on release to the next claim that was not withdrawn", () => {
    const [first, second, third] = [claim("a"), claim("a"), claim("a", { latest: 9 })];
    const places = newPlaces(1, [first, second, third]);
    takeAll(places);
    places.withdraw(second);
    expect(places.changesAt()).toBe(10);
    places.release(first);
    expect(takeAll(places)).toEqual([third]);
    expect(places.changesAt()).toBe(Infinity);
  });
});

/** Implements the rule as docs/agent.md states it, without regard to speed. */
function plainly(count: number, waiting: readonly Claim[], placed: readonly Claim[], now: number) {
  const isLimited = ({ isManual, isLong }: Claim): boolean => isManual || isLong;
  const heldBy = (owner: string): number => placed.filter((each) => each.owner === owner).length;
  const free = count - placed.length;
  const half = Math.max(1, Math.floor(count / 2)) - placed.filter(isLimited).length;
  const isAlone = new Set([...waiting, ...placed].map(({ owner }) => owner)).size === 1;
  const mayHave = (given: Claim): boolean => {
    if (free === 0 || given.instant > now) return false;
    if (isAlone) return !isLimited(given) || heldBy(given.owner) < 4 * half;
    return heldBy(given.owner) < 4 * (isLimited(given) ? Math.min(free, half) : free);
  };
  return waiting
    .filter(mayHave)
    .map((given, at) => ({ given, at }))
    .toSorted(
      (a, b) =>
        Number(a.given.isManual) - Number(b.given.isManual) ||
        heldBy(a.given.owner) - heldBy(b.given.owner) ||
        a.given.instant - b.given.instant ||
        a.at - b.at,
    )[0]?.given;
}

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      add: fc.record({
        // Mostly one owner's, which then comes close to its limits.
        owner: fc.constantFrom("a", "a", "a", "b", "c"),
        isManual: fc.boolean(),
        isLong: fc.boolean(),
        instant: fc.nat(5),
        latest: fc.integer({ min: 5, max: 20 }),
      }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ take: fc.constant(true) }) },
  { weight: 2, arbitrary: fc.record({ release: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ withdraw: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ pass: fc.nat(4) }) },
);

describe("places, whatever happens", () => {
  it("go to the run that the plain rule chooses, and never exceed their number", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.array(step, { maxLength: 80, size: "max" }),
        (count, steps) => {
          const places = createPlaces<Claim>(count);
          let [waiting, placed, now]: [Claim[], Claim[], number] = [[], [], 0];
          const pick = (from: readonly Claim[], at: number): Claim | undefined =>
            from[at % Math.max(1, from.length)];
          for (const each of steps) {
            if ("add" in each) {
              places.add(each.add);
              waiting.push(each.add);
            } else if ("pass" in each) now += each.pass;
            else if ("release" in each) {
              const released = pick(placed, each.release);
              if (released) places.release(released);
              placed = placed.filter((other) => other !== released);
            } else if ("withdraw" in each) {
              const withdrawn = pick(waiting, each.withdraw);
              if (withdrawn) places.withdraw(withdrawn);
              waiting = waiting.filter((other) => other !== withdrawn);
            } else {
              const next = places.next(now);
              expect(next).toBe(plainly(count, waiting, placed, now));
              if (!next) continue;
              places.take(next);
              waiting = waiting.filter((other) => other !== next);
              placed.push(next);
            }
            expect(placed.length).toBeLessThanOrEqual(count);
            const expired = places.expired(now);
            if (expired) {
              expect(expired.latest).toBe(Math.min(...waiting.map(({ latest }) => latest)));
              expect(expired.latest).toBeLessThan(now);
            } else expect(waiting.every(({ latest }) => latest >= now)).toBe(true);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});
