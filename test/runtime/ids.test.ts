// Ids sort by time and never repeat.
import { describe, expect, it, vi } from "vitest";
import { derivedId, newId } from "../../src/runtime/ids.ts";

const NOW = Date.parse("2026-10-01T12:00:00Z");
const FORM = /^[0-9a-hjkmnp-tv-z]{26}$/;

describe("a new id", () => {
  it("has 26 unambiguous letters and digits", () => {
    expect(newId(NOW)).toMatch(FORM);
  });

  it("is greater than earlier ids, within a millisecond too", () => {
    const ids = Array.from({ length: 10_000 }, (_, n) => newId(NOW + Math.floor(n / 1000)));
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("is greater than earlier ids after the clock was set back", () => {
    const before = newId(NOW + 3_600_000);
    const after = newId(NOW);
    expect(after > before).toBe(true);
    expect(after).toMatch(FORM);
  });

  it("begins with its time", async () => {
    vi.resetModules(); // other tests of this process may have made later ids
    const ids = await import("../../src/runtime/ids.ts");
    expect(ids.newId(NOW).slice(0, 10)).toBe(derivedId(NOW).slice(0, 10));
  });
});

describe("a derived id", () => {
  it("is the same for the same time and parts", () => {
    expect(derivedId(NOW, "deployment", "slot")).toBe(derivedId(NOW, "deployment", "slot"));
    expect(derivedId(NOW, "deployment")).toMatch(FORM);
  });

  it.each([
    ["another time", derivedId(NOW + 1, "a", "b")],
    ["another part", derivedId(NOW, "a", "c")],
    ["the parts the other way round", derivedId(NOW, "b", "a")],
    ["the parts split elsewhere", derivedId(NOW, "ab", "")],
    ["one part less", derivedId(NOW, "a")],
  ])("differs for %s", (_, other) => {
    expect(other).not.toBe(derivedId(NOW, "a", "b"));
  });

  it("sorts by time whatever its parts", () => {
    const ids = Array.from({ length: 1000 }, (_, n) =>
      derivedId(NOW + n, String((n * 7919) % 1000)),
    );
    expect(ids.toSorted()).toEqual(ids);
  });

  it("sorts by time over its whole range", () => {
    const times = [0, 1, 31, 32, 1023, 1024, NOW, 2 ** 45, 2 ** 50 - 1];
    const ids = times.map((ms) => derivedId(ms, "x"));
    expect(ids.toSorted()).toEqual(ids);
    expect(ids.every((id) => FORM.test(id))).toBe(true);
  });
});
