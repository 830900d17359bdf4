// The scheduler role: beats every second and reconciles every five.
import { AppError } from "../model/errors.ts";
import { createCron } from "../runtime/cron.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { Logger } from "../runtime/logger.ts";
import { createBeat } from "./beat.ts";
import type { BeatOptions } from "./beat.ts";
import { reconcile } from "./reconcile.ts";

export function createScheduler(options: BeatOptions): Service {
  const { log } = options;
  const beat = createBeat(options);
  let leads = false;
  const crons = [
    createCron({
      name: "beat",
      expression: "* * * * * *",
      log,
      work: untilReachable(log, "beat", async (signal) => {
        leads = await beat.run(signal);
      }),
    }),
    createCron({
      name: "reconcile",
      expression: "*/5 * * * * *",
      log,
      work: untilReachable(log, "reconcile", async (signal) => {
        if (leads) await reconcile(options, signal);
      }),
    }),
  ];
  return {
    name: "scheduler",
    async start() {
      for (const cron of crons) await cron.start();
    },
    async stop() {
      await Promise.all(crons.map((cron) => cron.stop()));
      await beat.resign();
    },
  };
}

type Work = (signal: AbortSignal) => Promise<void>;

/** An unreachable database is told once, not every second; the next beat that succeeds catches up. */
function untilReachable(log: Logger, name: string, work: Work): Work {
  let unreachable = false;
  return async (signal) => {
    try {
      await work(signal);
      if (unreachable)
        log.info({ cron: name }, "the database is reachable again");
      unreachable = false;
    } catch (err) {
      if (!(err instanceof AppError) || err.code !== "unavailable") throw err;
      if (!unreachable)
        log.error(
          { cron: name, err },
          "the database is unreachable; trying on",
        );
      unreachable = true;
    }
  };
}
