// Recurring work by a cron expression, as a service.
import { createTask, validateDetailed } from "node-cron";
import type { ScheduledTask } from "node-cron";
import { systemClock } from "./clock.ts";
import type { Clock } from "./clock.ts";
import type { Service } from "./lifecycle.ts";
import type { Logger } from "./logger.ts";

export interface CronOptions {
  readonly name: string;
  /** Five fields, or six with seconds in front; UTC. */
  readonly expression: string;
  readonly clock?: Clock;
  readonly log: Logger;
  /** The signal aborts when the service is to stop; `stop()` waits for the work either way. */
  readonly work: (signal: AbortSignal) => Promise<void>;
}

const CLOCK_CHECK_MS = 10_000;
const STEP_BACK_MS = 1_000;

/**
 * Never runs twice at once: what falls due during a run is passed over, without a word. A time that
 * passed while the process was held up is made up for once, late. Work that fails is logged and
 * comes again at its next time. Throws for a bad expression.
 */
export function createCron(options: CronOptions): Service {
  const { name, expression, clock = systemClock, log, work } = options;
  const { valid, errors } = validateDetailed(expression);
  if (!valid)
    throw new Error(
      `${name}: '${expression}' is not a cron expression: ${errors.map(({ message }) => message).join("; ")}`,
    );
  const stopping = new AbortController();
  let underWay: Promise<void> | undefined;
  let task: ScheduledTask | undefined;
  let watch: NodeJS.Timeout | undefined;

  const run = async (): Promise<void> => {
    try {
      await work(stopping.signal);
    } catch (err) {
      if (stopping.signal.aborted && err === stopping.signal.reason) return;
      log.error({ cron: name, err }, "recurring work failed");
    } finally {
      underWay = undefined;
    }
  };

  return {
    name,
    async start() {
      task = createTask(expression, () => void (underWay ??= run()), {
        name,
        timezone: "UTC",
        suppressMissedWarning: true,
        missedExecutionTolerance: Number.MAX_SAFE_INTEGER,
        logger: asCronLogger(name, log),
      });
      await task.start();
      watch = watchForStepsBack(clock, task);
    },
    async stop() {
      clearInterval(watch);
      await task?.destroy();
      stopping.abort();
      await underWay;
    },
  };
}

// A task waits for one instant. After the clock was set back by an hour, that would be an hour
// without a run.
function watchForStepsBack(clock: Clock, task: ScheduledTask): NodeJS.Timeout {
  const offset = (): number => clock.now() - clock.monotonic();
  let last = offset();
  const check = async (): Promise<void> => {
    const before = last;
    last = offset();
    if (last > before - STEP_BACK_MS) return;
    await task.stop();
    await task.start();
  };
  return setInterval(() => void check(), CLOCK_CHECK_MS).unref();
}

const asCronLogger = (cron: string, log: Logger) => ({
  debug: (message: unknown) => log.debug({ cron }, String(message)),
  info: (message: unknown) => log.debug({ cron }, String(message)),
  warn: (message: unknown) => log.warn({ cron }, String(message)),
  error: (err: unknown) => log.error({ cron, err }, "recurring work failed"),
});
