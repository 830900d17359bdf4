// Answers that were kept for repeated requests are forgotten when their time is over.
import { createCron } from "../runtime/cron.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Store } from "../store/store.ts";
import { KEPT_FOR_MS } from "./idempotency.ts";

const HOURLY = "23 * * * *";

export const createAnswerPruning = ({
  store,
  log,
}: {
  readonly store: Store;
  readonly log: Logger;
}): Service =>
  createCron({
    name: "answer pruning",
    expression: HOURLY,
    log,
    work: async () => store.answers.prune((await store.now()) - KEPT_FOR_MS),
  });
