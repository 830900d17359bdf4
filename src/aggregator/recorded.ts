// Prunes notices of recorded results after listeners have had time to read them.
import { createCron } from "../runtime/cron.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Store } from "../store/store.ts";

/** A listener disconnected for longer starts over. */
const KEPT_FOR_MS = 600_000;
const EVERY_MINUTE = "* * * * *";

export const createRecordedPruning = ({
  store,
  log,
}: {
  readonly store: Store;
  readonly log: Logger;
}): Service =>
  createCron({
    name: "pruning of what was recorded",
    expression: EVERY_MINUTE,
    log,
    work: () => store.recorded.prune(KEPT_FOR_MS),
  });
