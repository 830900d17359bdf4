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
  /** The signal aborts when the service stops; `stop()` waits for the work either way. */
  readonly work: (signal: AbortSignal) => Promise<void>;
}

const CLOCK_CHECK_MS = 10_000;
const STEP_BACK_MS = 1_000;

/**
 * Never overlaps with itself: it silently skips what falls due during a run. After a delay of the
 * process, it runs once for all the times that passed. Work that fails is logged and runs again at
 * its next time; an outage of the database is logged at its beginning and its end only. Throws for
 * a bad expression.
 */
export function createCron(options: CronOptions): Service {
  const { name, expression, clock = systemClock, log } = options;
  assertValid(name, expression);
  const stopping = new AbortController();
  const run = createRun(options, stopping.signal);
  let underWay: Promise<void> | undefined;
  let task: ScheduledTask | undefined;
  let watch: NodeJS.Timeout | undefined;

  return {
    name,
    async start() {
      const begin = (): void => {
        underWay ??= run().finally(() => (underWay = undefined));
      };
      task = createTask(expression, begin, {
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

function assertValid(name: string, expression: string): void {
  const { valid, errors } = validateDetailed(expression);
  if (valid) return;
  const reasons = errors.map(({ message }) => message).join("; ");
  throw new Error(`${name}: '${expression}' is not a cron expression: ${reasons}`);
}

/** Never rejects. */
function createRun({ name, log, work }: CronOptions, stopping: AbortSignal): () => Promise<void> {
  let isOutage = false;
  return async () => {
    try {
      await work(stopping);
      if (isOutage) log.info({ cron: name }, "database available again");
      isOutage = false;
    } catch (err) {
      if (stopping.aborted && err === stopping.reason) return;
      if (!isUnavailable(err)) log.error({ cron: name, err }, "recurring work failed");
      else if (!isOutage) log.error({ cron: name, err }, "database unavailable; retrying");
      isOutage ||= isUnavailable(err);
    }
  };
}

/** By the code of the model's `UnavailableError`. */
const isUnavailable = (err: unknown): boolean =>
  err instanceof Error && "code" in err && err.code === "unavailable";

// A task waits for one instant: without this, setting the clock back by an hour would mean an hour
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
