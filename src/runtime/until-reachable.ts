// Recurring work over an outage of the database.
import type { Logger } from "./logger.ts";

type Work = (signal: AbortSignal) => Promise<void>;

/**
 * A database that cannot be used is told once, not every second; the next beat that succeeds
 * catches up.
 */
export function untilReachable(log: Logger, name: string, work: Work): Work {
  let unreachable = false;
  return async (signal) => {
    try {
      await work(signal);
      if (unreachable) log.info({ cron: name }, "the database can be used again");
      unreachable = false;
    } catch (err) {
      if (!isUnavailable(err)) throw err;
      if (!unreachable) log.error({ cron: name, err }, "the database cannot be used; trying on");
      unreachable = true;
    }
  };
}

/** As the errors of the model say it. */
const isUnavailable = (err: unknown): boolean =>
  err instanceof Error && "code" in err && err.code === "unavailable";
