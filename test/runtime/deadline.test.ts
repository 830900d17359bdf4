import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { createDeadline, untilAborted } from "../../src/runtime/deadline.ts";

const listening = (signal: AbortSignal): number => getEventListeners(signal, "abort").length;

const timers = (): number =>
  process.getActiveResourcesInfo().filter((one) => one === "Timeout").length;

describe("a deadline", () => {
  it("expires after its time", async () => {
    const { signal } = createDeadline(1);
    await expect.poll(() => signal.aborted).toBe(true);
  });

  it("expires with its cancel signal, even one that has aborted", () => {
    const cancel = new AbortController();
    const running = createDeadline(60_000, cancel.signal);
    cancel.abort();
    const late = createDeadline(60_000, cancel.signal);
    expect([running.signal.aborted, late.signal.aborted]).toEqual([true, true]);
    running.clear();
    late.clear();
  });

  it("leaves neither a timer nor a listener behind", () => {
    const cancel = new AbortController();
    const before = timers();
    const deadline = createDeadline(60_000, cancel.signal);
    expect([timers(), listening(cancel.signal)]).toEqual([before + 1, 1]);
    deadline.clear();
    expect([timers(), listening(cancel.signal)]).toEqual([before, 0]);
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
