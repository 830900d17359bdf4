// Publishes what is pending and unpublished: just ordered, or left by a scheduler that stopped in
// between.
import type { Dispatcher } from "../dispatch/dispatch.ts";
import { PUBLISH_AHEAD_MS } from "../dispatch/dispatch.ts";
import { isUnavailable } from "../model/errors.ts";
import type { Logger } from "../runtime/logger.ts";
import type { PendingRun } from "../store/records.ts";
import type { Store } from "../store/store.ts";

const PUBLISH_BATCH = 1000;

/**
 * A manual run is published, or held back, by whoever ordered it; only after this long did that one
 * fail.
 */
const ORDERER_GRACE_MS = 5000;

export interface PublishOptions {
  readonly store: Store;
  readonly dispatcher: Dispatcher;
  readonly log: Logger;
}

export async function publishPending(
  options: PublishOptions,
  now: number,
  signal?: AbortSignal,
): Promise<void> {
  const { store, log } = options;
  let last: PendingRun | undefined;
  while (!signal?.aborted) {
    const unpublished = await store.pendingRuns.listUnpublished(
      now + PUBLISH_AHEAD_MS,
      PUBLISH_BATCH,
      last,
    );
    last = unpublished.at(-1);
    if (!last) return;
    const ours = unpublished.filter(
      (run) =>
        run.trigger === "SCHEDULE" || run.held_back || run.trigger_time < now - ORDERER_GRACE_MS,
    );
    try {
      await dispatchAll(options, ours);
    } catch (err) {
      if (!isUnavailable(err)) throw err;
      log.warn(
        { err, unpublished: ours.length },
        "ticks could not be published; they are tried again",
      );
      return;
    }
  }
}

/**
 * One run that cannot be made into a tick must not hold up the others; it stays, and ends as
 * MISSED.
 */
async function dispatchAll(
  { dispatcher, log }: PublishOptions,
  runs: readonly PendingRun[],
): Promise<void> {
  try {
    return await dispatcher.dispatch(runs);
  } catch (err) {
    if (isUnavailable(err)) throw err;
  }
  for (const run of runs) {
    try {
      await dispatcher.dispatch([run]);
    } catch (err) {
      if (isUnavailable(err)) throw err;
      const { result_id, deployment_id, target_id } = run;
      log.error({ err, result_id, deployment_id, target_id }, "run could not be made into a tick");
    }
  }
}
