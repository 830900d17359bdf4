// Waits for concurrent work to end.

/** Waits for all to end, then rejects with the first failure in their order. */
export async function allDone(works: readonly Promise<unknown>[]): Promise<void> {
  for (const end of await Promise.allSettled(works))
    if (end.status === "rejected") throw end.reason;
}
