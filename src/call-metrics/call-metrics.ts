// Metrics of measured calls: counted as results are stored, labelled in the background, and limited
// in number.
import { SIMULATION } from "../model/result.ts";
import type { ReportedResult } from "../model/result.ts";
import { systemClock } from "../runtime/clock.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Registry } from "../runtime/metrics.ts";
import { createRounds } from "../runtime/rounds.ts";
import type { Store } from "../store/store.ts";
import { createListing } from "./listing.ts";
import { registerCallMetrics } from "./metrics.ts";
import { countResult } from "./pair.ts";
import { forgetHidden, review } from "./review.ts";

const NAME_EVERY_MS = 5000;
const REVIEW_EVERY_MS = 30_000;

/** `max`: how many pairs of a call and a location may have series. */
export function createCallMetrics(registry: Registry, max: number) {
  const listing = createListing(max);
  registerCallMetrics(registry, {
    pairs: () => listing.pairs().filter(({ labelText }) => labelText !== undefined),
    unlisted: () => listing.unlisted.size(),
  });
  return {
    /**
     * Counts stored results, except simulated ones; pass each of them once. Cheap, because nothing
     * is looked up here.
     */
    record(results: readonly ReportedResult[]): void {
      for (const result of results) {
        if (result.meta.agent_id === SIMULATION) continue;
        const pair = listing.find(result);
        if (pair) countResult(pair, result);
      }
    },
    /** Names new pairs every 5 s, and reviews all of them every 30 s. */
    naming(store: Store, log: Logger): Service {
      let reviewed = -Infinity;
      const work = async (): Promise<void> => {
        const isReview = systemClock.monotonic() - reviewed >= REVIEW_EVERY_MS;
        const pairs = listing.pairs();
        const chosen = isReview ? pairs : pairs.filter(({ labelText }) => labelText === undefined);
        if (isReview) await forgetHidden(store, listing.hidden);
        if (chosen.length > 0) await review(store, chosen, listing);
        listing.bound();
        if (isReview) reviewed = systemClock.monotonic();
      };
      const options = { name: "call metrics", everyMs: NAME_EVERY_MS, clock: systemClock, log };
      return createRounds({ ...options, work });
    },
  };
}
