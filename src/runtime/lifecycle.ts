// Starts services in order and stops them in reverse, once.
import { allDone } from "./all-done.ts";
import type { Logger } from "./logger.ts";

export interface Service {
  readonly name: string;
  /** Rejects with advice for the operator. */
  start(): Promise<void>;
  /** Finishes the work in progress and starts nothing new. */
  stop(): Promise<void>;
}

export type LifecycleState = "starting" | "running" | "draining" | "stopped";

export type Lifecycle = ReturnType<typeof createLifecycle>;

export function createLifecycle(services: readonly Service[], log: Logger, stopDeadlineMs: number) {
  const started: Service[] = [];
  let state: LifecycleState = "starting";
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
    await starting?.catch(() => undefined); // start() rejects with the cause
    const failures: unknown[] = [];
    for (const service of started.toReversed()) {
      awaited = `the ${service.name} to stop`;
      await stopOne(service, log).catch((cause: unknown) => failures.push(cause));
    }
    state = "stopped";
    if (failures.length > 0) throw new AggregateError(failures, "not every service stopped");
  };
  /**
   * Stops in reverse order, after the service that is starting, within the deadline; every caller
   * gets the same promise. Rejects if a service did not stop, naming the one still awaited at the
   * deadline.
   */
  const stop = (): Promise<void> =>
    (stopping ??= withDeadline(
      stopAll(),
      stopDeadlineMs,
      () => `not stopped after ${stopDeadlineMs / 1000} s: still waiting for ${awaited}`,
    ));

  return {
    /**
     * When a service fails to start, stops the started ones and rejects. Resolves early, without
     * starting the rest, when it is stopped meanwhile.
     */
    async start(): Promise<void> {
      for (const service of services) {
        if (stopping) return;
        try {
          starting = startOne(service);
          await starting;
        } catch (cause) {
          // stopAll logs its failures; the caller needs to know why the start failed.
          await stop().catch(() => undefined);
          throw cause;
        }
      }
      if (!stopping) state = "running";
    },
    stop,
    state: (): LifecycleState => state,
  };
}

/**
 * Combines services into one, whose parts start and stop at the same time. If one fails to start,
 * all stop.
 */
export function together(name: string, parts: readonly Service[]): Service {
  const stop = async (): Promise<void> => {
    await allDone(parts.map((part) => part.stop()));
  };
  return {
    name,
    async start() {
      try {
        await allDone(parts.map((part) => part.start()));
      } catch (cause) {
        await stop().catch(() => undefined); // the caller needs to know why the start failed
        throw cause;
      }
    },
    stop,
  };
}

async function stopOne(service: Service, log: Logger): Promise<void> {
  try {
    await service.stop();
    log.debug({ service: service.name }, "service stopped");
  } catch (cause) {
    log.error({ service: service.name, err: cause }, "service did not stop");
    throw cause;
  }
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
