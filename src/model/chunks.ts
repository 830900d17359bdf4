// Splits lists.

/** Chunks of `size` items, in their order; the last may have fewer. */
export const chunksOf = <T>(items: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, n) =>
    items.slice(n * size, (n + 1) * size),
  );

/** Both halves; one if there is a single item. */
export const halvesOf = <T>(items: readonly T[]): T[][] =>
  chunksOf(items, Math.ceil(items.length / 2));
