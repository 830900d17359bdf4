// What time it is.

/** Milliseconds since the epoch, by this machine's clock. */
export const now = (): number => Date.now();
