import { describe, expect, it } from "vitest";
import { decodeTicks, encodeTicks } from "../../../src/bus/nats/codec.ts";
import type { Tick } from "../../../src/model/tick.ts";
import { aTick } from "../buses.ts";

const ids = (ticks: readonly Tick[], maxBytes?: number): string[] =>
  encodeTicks(ticks, maxBytes).messages.map(({ id }) => id);

describe("a message id", () => {
  const [a, b, c] = [aTick(), aTick(), aTick()];

  it("is the same whenever the ticks are the same", () => {
    expect(ids([a, b])).toEqual(ids([{ ...a }, structuredClone(b)]));
  });

  it("differs when one tick more, less or other is in the message", () => {
    const all = [[a], [a, b], [a, c], [a, b, c], [b, a]].flatMap((ticks) => ids(ticks));
    expect(new Set(all).size).toBe(all.length);
  });
});

describe("ticks in messages of a limited size", () => {
  const ticks = Array.from({ length: 20 }, () => aTick({ context: { city: "Zürich" } }));
  const whole = encodeTicks(ticks).messages[0]?.data.length ?? 0;

  it.each([whole, whole - 1, 2000, 1000])("fit into %i bytes each, none lost", (maxBytes) => {
    const { messages, tooLarge } = encodeTicks(ticks, maxBytes);
    expect(tooLarge).toEqual([]);
    for (const { data } of messages) expect(data.length).toBeLessThanOrEqual(maxBytes);
    expect(messages.flatMap(({ data }) => decodeTicks(data, "local"))).toEqual(ticks);
  });

  it("are left out and named when they do not fit alone", () => {
    const large = aTick({ context: { text: "x".repeat(5000) } });
    const { messages, tooLarge } = encodeTicks([...ticks, large], 4000);
    expect(tooLarge).toEqual([large.result_id]);
    expect(messages.flatMap(({ data }) => decodeTicks(data, "local"))).toEqual(ticks);
  });
});

it("unknown fields pass, so that a newer hub can talk to an older agent", () => {
  const data = Buffer.from(JSON.stringify({ later: 1, ticks: [{ ...aTick(), later: 1 }] }));
  expect(decodeTicks(data, "local")).toHaveLength(1);
});
