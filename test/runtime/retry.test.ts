import { expect, it } from "vitest";
import { retry, retryDelayMs } from "../../src/runtime/retry.ts";
import { createManualClock } from "../support/manual-clock.ts";

/** Returns work that fails `failures` times before it succeeds, and notes when it was attempted. */
function failingWork(failures: number) {
  const clock = createManualClock(0);
  const attempts: number[] = [];
  const work = async (): Promise<string> => {
    attempts.push(clock.monotonic());
    if (attempts.length <= failures) throw new Error(`failure ${attempts.length}`);
    return "done";
  };
  return { clock, attempts, work };
}

it("retries until the work succeeds, and reports each failure", async () => {
  const { clock, attempts, work } = failingWork(3);
  const failures: [string, number][] = [];
  const done = retry(work, {
    clock,
    onRetry: (cause, count) => failures.push([(cause as Error).message, count]),
  });
  await clock.advance(700);
  await expect(done).resolves.toBe("done");
  expect(attempts).toEqual([0, 100, 300, 700]);
  expect(failures).toEqual([
    ["failure 1", 1],
    ["failure 2", 2],
    ["failure 3", 3],
  ]);
});

it("waits 100 ms after the first failure, doubling, at most 5 s", () => {
  expect([1, 2, 3, 6, 7, 1000].map(retryDelayMs)).toEqual([100, 200, 400, 3200, 5000, 5000]);
});

it("rejects with the last failure when no time is left for another attempt", async () => {
  const { clock, attempts, work } = failingWork(Infinity);
  const left: number[] = [];
  const done = retry(
    (leftMs) => {
      left.push(leftMs);
      return work();
    },
    { clock, delayMs: () => 400, withinMs: 1000 },
  );
  const rejected = expect(done).rejects.toThrow("failure 3");
  await clock.advance(2000);
  await rejected;
  expect(attempts).toEqual([0, 400, 800]);
  expect(left).toEqual([1000, 600, 200]);
});

it("rejects at once with a failure that is not retryable", async () => {
  const { clock, attempts, work } = failingWork(1);
  await expect(retry(work, { clock, isRetryable: () => false })).rejects.toThrow("failure 1");
  expect(attempts).toEqual([0]);
});

it("rejects with the signal's reason when it aborts during a pause", async () => {
  const { clock, attempts, work } = failingWork(1);
  const stopping = new AbortController();
  const done = retry(work, { clock, signal: stopping.signal });
  const rejected = expect(done).rejects.toThrow("stopping");
  await clock.advance(50);
  stopping.abort(new Error("stopping"));
  await rejected;
  await expect(retry(work, { clock, signal: stopping.signal })).rejects.toThrow("stopping");
  expect(attempts).toEqual([0]);
});
