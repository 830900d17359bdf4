// The scheduler role: beats every second and reconciles every five.
import { MISSED_REASONS } from "../model/missed.ts";
import { createCron } from "../runtime/cron.ts";
import type { Service } from "../runtime/lifecycle.ts";
import { createBeat } from "./beat.ts";
import type { BeatOptions } from "./beat.ts";

export function createScheduler(options: BeatOptions): Service {
  const { log } = options;
  const beat = createBeat(options);
  // Starts at 0: the first missed run of a reason then shows as an increase.
  for (const reason of MISSED_REASONS) options.metrics.missed.inc({ reason }, 0);
  const crons = [
    createCron({
      name: "beat",
      expression: "* * * * * *",
      log,
      work: async (signal) => void (await beat.run(signal)),
    }),
    createCron({
      name: "reconcile",
      expression: "*/5 * * * * *",
      log,
      work: (signal) => beat.reconcile(signal),
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
