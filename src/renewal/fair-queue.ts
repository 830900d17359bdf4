// A bounded number of places for work, of which no owner takes more than a few.

export interface FairQueue<T> {
  /**
   * What is waiting, first come first; in the place of what waited before, and without what is
   * under way. Begins as much of it as there is room for.
   */
  offer(items: readonly T[]): void;
  /** Resolves when nothing waits or is under way. */
  settled(): Promise<void>;
}

interface QueueOptions<T> {
  readonly places: number;
  readonly placesOfOwner: number;
  /** Never rejects. */
  readonly work: (item: T) => Promise<void>;
}

interface Item {
  readonly id: string;
  readonly owner: string;
}

export function createFairQueue<T extends Item>({
  places,
  placesOfOwner,
  work,
}: QueueOptions<T>): FairQueue<T> {
  const underWay = new Map<string, Promise<void>>();
  const placesTaken = new Map<string, number>();
  let waiting: T[] = [];

  const taken = (owner: string): number => placesTaken.get(owner) ?? 0;
  const begin = (item: T): void => {
    const { id, owner } = item;
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
      const next = waiting.findIndex(({ owner }) => taken(owner) < placesOfOwner);
      if (next < 0) return;
      for (const item of waiting.splice(next, 1)) begin(item);
    }
  };
  return {
    offer(items) {
      waiting = items.filter(({ id }) => !underWay.has(id));
      fill();
    },
    async settled() {
      while (underWay.size > 0) await Promise.all(underWay.values());
    },
  };
}
