// What the parts of the scheduler share: their store, log and metrics, and the lease's renewal.
import type { Logger } from "../runtime/logger.ts";
import type { Store } from "../store/store.ts";
import type { SchedulerMetrics } from "./metrics.ts";

export interface SchedulerParts {
  readonly store: Store;
  readonly log: Logger;
  readonly metrics: SchedulerMetrics;
}

/**
 * Called between two pages of a beat: lets the process do other work, and renews the lease. Returns
 * the time afterwards; undefined if the beat must end.
 */
export type Renew = () => Promise<number | undefined>;
