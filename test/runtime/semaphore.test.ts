import { expect, it } from "vitest";
import { createRunSlots } from "../../src/runtime/semaphore.ts";

const never = new AbortController().signal;

it("gives a place to as many as there are, to the others in their order", async () => {
  const slots = createRunSlots(2);
  const entered: number[] = [];
  const take = (at: number) => slots.take(never).then(() => entered.push(at));
  const [, , third, fourth] = [1, 2, 3, 4].map(take);
  await expect.poll(() => entered).toEqual([1, 2]);
  slots.release();
  await third;
  expect(entered).toEqual([1, 2, 3]);
  slots.release();
  await fourth;
});

it("leaves out who has gone away meanwhile", async () => {
  const slots = createRunSlots(1);
  await slots.take(never);
  const gone = new AbortController();
  const leaving = slots.take(gone.signal);
  const staying = slots.take(never);
  gone.abort(new Error("gone"));
  await expect(leaving).rejects.toThrow("gone");
  await expect(slots.take(gone.signal)).rejects.toThrow("gone");
  slots.release();
  await staying;
});

it("has no more places than it began with, however often one is given back", async () => {
  const slots = createRunSlots(1);
  slots.release();
  await slots.take(never);
  const end = new AbortController();
  const second = slots.take(end.signal);
  end.abort(new Error("no place"));
  await expect(second).rejects.toThrow("no place");
});
