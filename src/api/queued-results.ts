// Results of a target's runs. One that was ordered and has no outcome yet is listed as QUEUED, in
// its place.
import type { Page } from "../store/ports/document-store.ts";
import type { PendingRun } from "../store/ports/run-store.ts";
import type { Store } from "../store/store.ts";

export interface ListedRuns<R> {
  readonly targetId: string;
  readonly recorded: (page: Page) => Promise<R[]>;
  readonly queued: (run: PendingRun) => R;
}

/**
 * Pending runs are read first: one that gets its outcome in between is then seen twice, never
 * missed.
 */
export async function listWithQueued<R extends { readonly id: string }>(
  store: Store,
  { targetId, recorded, queued }: ListedRuns<R>,
  page: Page,
): Promise<R[]> {
  const pending = await store.pendingRuns.listOfCall(targetId, page);
  const results = await recorded(page);
  const known = new Set(results.map(({ id }) => id));
  return pending
    .filter(({ result_id }) => !known.has(result_id))
    .map(queued)
    .concat(results)
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .slice(0, page.limit);
}
