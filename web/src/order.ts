// The order of a list.

/** Moves the item at `from` to `to`; returns the same list if there is no such place. */
export function movedTo<T>(list: readonly T[], from: number, to: number): readonly T[] {
  const one = list[from];
  if (one === undefined || to < 0 || to >= list.length) return list;
  return list.toSpliced(from, 1).toSpliced(to, 0, one);
}
