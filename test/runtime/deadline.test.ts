import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { createDeadline, untilAborted } from "../../src/runtime/deadline.ts";

const listening = (signal: AbortSignal): number => getEventListeners(signal, "abort").length;

const timers = (): number =>
  process.getActiveResourcesInfo().filter((one) => one === "Timeout").length;

describe("a deadline", () => {
  it("ends the current wait after its time", async () => {
    const ended: string[] = [];
    const deadline = createDeadline(1);
    deadline.watch(() => ended.push("first"));
    deadline.watch(() => ended.push("second"));
    await expect.poll(deadline.isOver).toBe(true);
    expect(ended).toEqual(["second"]);
    deadline.watch(() => ended.push("too late"));
    expect(ended).toEqual(["second", "too late"]);
  });

  it("is over when its cancel signal aborts, or has aborted", () => {
    const cancel = new AbortController();
    const running = [60_000, 60_000].map((ms) => createDeadline(ms, cancel.signal));
    cancel.abort();
    const late = createDeadline(60_000, cancel.signal);
    for (const deadline of [...running, late]) {
      expect(deadline.isOver()).toBe(true);
      deadline.clear();
    }
  });

  it("leaves no timer behind, and one listener for all", () => {
    const cancel = new AbortController();
    const before = timers();
    const deadlines = [1, 2, 3].map(() => createDeadline(60_000, cancel.signal));
    expect([timers(), listening(cancel.signal)]).toEqual([before + 3, 1]);
    for (const deadline of deadlines) deadline.clear();
    cancel.abort();
    expect(timers()).toBe(before);
    expect(deadlines.map(({ isOver }) => isOver())).toEqual([false, false, false]);
  });
});

describe("work that ends with a signal", () => {
  it("leaves no listener behind when it ends first", async () => {
    const { signal } = new AbortController();
    const failure = () => new Error("late");
    await untilAborted(Promise.resolve(1), signal, failure);
    await expect(
      untilAborted(Promise.reject(new Error("broken")), signal, failure),
    ).rejects.toThrow("broken");
    expect(listening(signal)).toBe(0);
  });

  it("is abandoned when the signal aborts, or has aborted", async () => {
    const end = new AbortController();
    const never = new Promise<never>(() => undefined);
    const work = untilAborted(never, end.signal, () => new Error("late"));
    end.abort();
    await expect(work).rejects.toThrow("late");
    await expect(untilAborted(never, end.signal, () => new Error("too late"))).rejects.toThrow(
      "too late",
    );
  });
});
