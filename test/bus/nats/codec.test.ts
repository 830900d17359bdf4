import { describe, expect, it } from "vitest";
import { decodeTicks, encode, TICKS } from "../../../src/bus/nats/codec.ts";
import type { Tick } from "../../../src/model/tick.ts";
import { aTick } from "../buses.ts";

const keys = (ticks: readonly Tick[]): string[] =>
  encode(TICKS, ticks, Infinity).messages.map(({ key }) => key);

describe("the key of a message", () => {
  const [a, b, c] = [aTick(), aTick(), aTick()];

  it("is the same whenever the ticks are the same", () => {
    expect(keys([a, b])).toEqual(keys([{ ...a }, structuredClone(b)]));
  });

  it("differs when a tick is added, removed, replaced or moved", () => {
    const all = [[a], [a, b], [a, c], [a, b, c], [b, a]].flatMap(keys);
    expect(new Set(all).size).toBe(all.length);
  });
});

describe("ticks in messages of a limited size", () => {
  const ticks = Array.from({ length: 20 }, () => aTick({ context: { city: "Zürich" } }));
  const whole = Buffer.byteLength(encode(TICKS, ticks, Infinity).messages[0]?.text ?? "");

  it.each([whole, whole - 1, 2000, 1000])("fit into %i bytes each, none lost", (maxBytes) => {
    const { messages, tooLarge } = encode(TICKS, ticks, maxBytes);
    expect(tooLarge).toEqual([]);
    for (const { text } of messages) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxBytes);
    expect(messages.flatMap(({ text }) => decodeTicks(text, "local"))).toEqual(ticks);
  });

  it("are left out and named when they do not fit alone", () => {
    const large = aTick({ context: { text: "x".repeat(5000) } });
    const { messages, tooLarge } = encode(TICKS, [...ticks, large], 4000);
    expect(tooLarge).toEqual([large.result_id]);
    expect(messages.flatMap(({ text }) => decodeTicks(text, "local"))).toEqual(ticks);
  });
});

it("unknown fields pass: a newer hub can talk to an older agent", () => {
  const text = JSON.stringify({ later: 1, ticks: [{ ...aTick(), later: 1 }] });
  expect(decodeTicks(text, "local")).toHaveLength(1);
});
