// A queue with a limited number of places for work, and a limit per owner.
import { identityOf } from "../model/access.ts";
import type { Ownership } from "../model/access.ts";

interface QueueOptions<T> {
  readonly places: number;
  readonly placesOfOwner: number;
  /** Never rejects. */
  readonly work: (item: T) => Promise<void>;
}

interface Item extends Ownership {
  readonly id: string;
}

export function createFairQueue<T extends Item>({ places, placesOfOwner, work }: QueueOptions<T>) {
  const underWay = new Map<string, Promise<void>>();
  const placesTaken = new Map<string, number>();
  let waiting: T[] = [];

  const taken = (owner: string): number => placesTaken.get(owner) ?? 0;
  const start = (item: T): void => {
    const { id } = item;
    const owner = identityOf(item);
    placesTaken.set(owner, taken(owner) + 1);
    const done = work(item).finally(() => {
      underWay.delete(id);
      if (taken(owner) === 1) placesTaken.delete(owner);
      else placesTaken.set(owner, taken(owner) - 1);
      fill();
    });
    underWay.set(id, done);
  };
  const fill = (): void => {
    while (underWay.size < places) {
      const next = waiting.findIndex((item) => taken(identityOf(item)) < placesOfOwner);
      if (next < 0) return;
      for (const item of waiting.splice(next, 1)) start(item);
    }
  };
  return {
    /** Replaces the waiting items, in their order, and starts as many as places allow. */
    offer(items: readonly T[]): void {
      waiting = items.filter(({ id }) => !underWay.has(id));
      fill();
    },
    /** Resolves when no item is waiting or in progress. */
    async settled(): Promise<void> {
      while (underWay.size > 0) await Promise.all(underWay.values());
    },
  };
}
