// What starts also stops, in reverse, once.
import type { Logger } from "./logger.ts";

export interface Service {
  readonly name: string;
  /** Rejects with an error whose message tells an operator what to do. */
  start(): Promise<void>;
  /** Ends what start began; finishes the work under way, but begins nothing new. */
  stop(): Promise<void>;
}

export interface Lifecycle {
  /**
   * Starts the services in order; when one fails, stops the started ones and rejects. Resolves
   * early, the rest not started, when it is stopped meanwhile.
   */
  start(): Promise<void>;
  /**
   * Stops in reverse order, once what is just starting has started, within the deadline; every
   * caller gets the same promise. Rejects if a service did not stop, naming the one that is still
   * awaited at the deadline.
   */
  stop(): Promise<void>;
  readonly state: () => "starting" | "running" | "draining" | "stopped";
}

export function createLifecycle(
  services: readonly Service[],
  log: Logger,
  stopDeadlineMs: number,
): Lifecycle {
  const started: Service[] = [];
  let state: ReturnType<Lifecycle["state"]> = "starting";
  let starting: Promise<void> | undefined;
  let stopping: Promise<void> | undefined;
  let awaited = "nothing";

  const startOne = async (service: Service): Promise<void> => {
    awaited = `the ${service.name} to start`;
    await service.start();
    started.push(service);
  };
  const stopAll = async (): Promise<void> => {
    state = "draining";
    await starting?.catch(() => undefined); // start() rejects with it
    const failures: unknown[] = [];
    for (const service of started.toReversed()) {
      awaited = `the ${service.name} to stop`;
      try {
        await service.stop();
        log.debug({ service: service.name }, "service stopped");
      } catch (cause) {
        log.error({ service: service.name, err: cause }, "service did not stop");
        failures.push(cause);
      }
    }
    state = "stopped";
    if (failures.length > 0) throw new AggregateError(failures, "not every service stopped");
  };
  const stop = (): Promise<void> =>
    (stopping ??= withDeadline(
      stopAll(),
      stopDeadlineMs,
      () => `not stopped after ${stopDeadlineMs / 1000} s: still waiting for ${awaited}`,
    ));

  return {
    async start() {
      for (const service of services) {
        if (stopping) return;
        try {
          starting = startOne(service);
          await starting;
        } catch (cause) {
          // stopAll has logged it; what matters is why the start failed.
          await stop().catch(() => undefined);
          throw cause;
        }
      }
      if (!stopping) state = "running";
    },
    stop,
    state: () => state,
  };
}

async function withDeadline(work: Promise<void>, ms: number, overdue: () => string): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(overdue())), ms);
  });
  try {
    await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
