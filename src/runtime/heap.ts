// A binary heap: reading the first item is O(1), every change O(log n).

export type Heap<T> = ReturnType<typeof createHeap<T>>;

/** Items of equal rank leave in any order. No item may be added twice. */
export function createHeap<T>(isBefore: (a: T, b: T) => boolean) {
  const items: T[] = [];
  const places = new Map<T, number>();

  const put = (item: T, at: number): void => {
    items[at] = item;
    places.set(item, at);
  };
  /** Moves an item up or down from `from` to its place. */
  function settle(item: T, from: number): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      if (!isBefore(item, items[parent] as T)) break;
      put(items[parent] as T, at);
      at = parent;
    }
    for (;;) {
      let child = 2 * at + 1;
      if (child >= items.length) break;
      const other = child + 1;
      if (other < items.length && isBefore(items[other] as T, items[child] as T)) child = other;
      if (!isBefore(items[child] as T, item)) break;
      put(items[child] as T, at);
      at = child;
    }
    put(item, at);
  }

  return {
    first: (): T | undefined => items[0],
    add(item: T): void {
      items.push(item);
      settle(item, items.length - 1);
    },
    /** Call it when the rank of an item has changed. */
    update(item: T): void {
      const at = places.get(item);
      if (at !== undefined) settle(item, at);
    },
    /** Returns false if the item is not in the heap. */
    remove(item: T): boolean {
      const at = places.get(item);
      if (at === undefined) return false;
      places.delete(item);
      const last = items.pop() as T;
      if (at < items.length) settle(last, at);
      return true;
    },
  };
}
