import { expect, it } from "vitest";
import { createSemaphore } from "../../src/runtime/semaphore.ts";

const never = new AbortController().signal;

it("admits as many holders as it has places, then waiters in order", async () => {
  const semaphore = createSemaphore(2);
  const entered: number[] = [];
  const ends = [1, 2, 3, 4].map((at) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const work = semaphore.run(never, async () => {
      entered.push(at);
      await promise;
    });
    return { work, resolve };
  });
  for (const [at, { work, resolve }] of ends.entries()) {
    await expect.poll(() => entered).toEqual([1, 2, 3, 4].slice(0, at + 2));
    resolve();
    await work;
  }
});

it("skips a waiter whose signal aborted", async () => {
  const semaphore = createSemaphore(1);
  const end = Promise.withResolvers<void>();
  const holding = semaphore.run(never, () => end.promise);
  const gone = new AbortController();
  const entered: string[] = [];
  const leaving = semaphore.run(gone.signal, async () => entered.push("leaving"));
  const staying = semaphore.run(never, async () => entered.push("staying"));
  gone.abort(new Error("gone"));
  await expect(leaving).rejects.toThrow("gone");
  await expect(semaphore.run(gone.signal, async () => entered.push("late"))).rejects.toThrow(
    "gone",
  );
  end.resolve();
  await Promise.all([holding, staying]);
  expect(entered).toEqual(["staying"]);
});

it("frees the place when the work ends, also when it fails", async () => {
  const semaphore = createSemaphore(1);
  await expect(semaphore.run(never, () => Promise.reject(new Error("failed")))).rejects.toThrow(
    "failed",
  );
  await expect(semaphore.run(never, async () => "done")).resolves.toBe("done");
});
