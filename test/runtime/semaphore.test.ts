import { expect, it } from "vitest";
import { createSemaphore } from "../../src/runtime/semaphore.ts";

const never = new AbortController().signal;

it("admits as many holders as it has places, then waiters in order", async () => {
  const semaphore = createSemaphore(2);
  const entered: number[] = [];
  const acquire = (at: number) => semaphore.acquire(never).then(() => entered.push(at));
  const [, , third, fourth] = [1, 2, 3, 4].map(acquire);
  await expect.poll(() => entered).toEqual([1, 2]);
  semaphore.release();
  await third;
  expect(entered).toEqual([1, 2, 3]);
  semaphore.release();
  await fourth;
});

it("skips a waiter whose signal aborted", async () => {
  const semaphore = createSemaphore(1);
  await semaphore.acquire(never);
  const gone = new AbortController();
  const leaving = semaphore.acquire(gone.signal);
  const staying = semaphore.acquire(never);
  gone.abort(new Error("gone"));
  await expect(leaving).rejects.toThrow("gone");
  await expect(semaphore.acquire(gone.signal)).rejects.toThrow("gone");
  semaphore.release();
  await staying;
});

it("never has more places than it began with", async () => {
  const semaphore = createSemaphore(1);
  semaphore.release();
  await semaphore.acquire(never);
  const end = new AbortController();
  const second = semaphore.acquire(end.signal);
  end.abort(new Error("no place"));
  await expect(second).rejects.toThrow("no place");
});

it("frees the place when the work ends, also when it fails", async () => {
  const semaphore = createSemaphore(1);
  await expect(semaphore.run(never, () => Promise.reject(new Error("failed")))).rejects.toThrow(
    "failed",
  );
  await expect(semaphore.run(never, async () => "done")).resolves.toBe("done");
});
