// Runs recurring work by a cron expression, as a service.
import { createTask, validateDetailed } from "node-cron";
import { systemClock } from "./clock.ts";
import { codeOf } from "./error-code.ts";
import type { Service } from "./lifecycle.ts";
import type { Logger } from "./logger.ts";

export interface CronOptions {
  readonly name: string;
  /** Five fields, or six with seconds in front; UTC. */
  readonly expression: string;
  readonly log: Logger;
  /** The signal aborts when the service stops; `stop()` waits for the work either way. */
  readonly work: (signal: AbortSignal) => Promise<void>;
}

const CLOCK_CHECK_MS = 10_000;
const STEP_BACK_MS = 1_000;

/**
 * Runs never overlap: times due during a run are silently skipped. After a delay of the process, or
 * a jump of the clock, the work runs once for all missed times. Failed work is logged and runs
 * again at its next time; a database outage is logged only at its start and end. Throws for a bad
 * expression.
 */
export function createCron(options: CronOptions): Service {
  const { name, expression } = options;
  assertValid(name, expression);
  // Only parses the expression: its own timer would walk through all missed times, blocking the
  // process for seconds per day to catch up.
  const task = createTask(expression, () => undefined, { name, timezone: "UTC" });
  const nextTime = (): number => (task.getNextRuns(1)[0] as Date).getTime();
  const stopping = new AbortController();
  const run = createRun(options, stopping.signal);
  let underWay: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let [looked, due] = [0, 0];
  const look = (): void => {
    const now = systemClock.now();
    if (now >= due) underWay ??= run().finally(() => (underWay = undefined));
    if (now >= due || now < looked - STEP_BACK_MS) due = nextTime();
    looked = now;
    timer = setTimeout(look, Math.min(due - now, CLOCK_CHECK_MS));
  };

  return {
    name,
    start() {
      [looked, due] = [systemClock.now(), nextTime()];
      look();
      return Promise.resolve();
    },
    async stop() {
      clearTimeout(timer);
      await task.destroy();
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

/** Recognizes the model's `UnavailableError` by its code. */
const isUnavailable = (err: unknown): boolean => codeOf(err) === "unavailable";
