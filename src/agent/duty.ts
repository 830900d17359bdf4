// Decides whether the agent takes ticks: not while the hub drains it or refuses its version.
import type { AgentBus, Consumer } from "../bus/bus.ts";
import type { HeartbeatAnswer } from "../model/heartbeat.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Intake } from "./intake.ts";

export interface DutySettings {
  readonly bus: AgentBus;
  readonly log: Logger;
  readonly locationId: string;
  readonly intake: Intake;
}

export type Duty = ReturnType<typeof createDuty>;

/** The hub's latest orders apply until the next ones. */
export function createDuty(settings: DutySettings) {
  const { log } = settings;
  const taking = createTaking(settings);
  let orders: Pick<HeartbeatAnswer, "drain" | "refused"> = {};
  let phase: "starting" | "running" | "stopping" | "stopped" = "starting";

  const adapt = (): Promise<void> =>
    taking.set(() => phase === "running" && !orders.drain && orders.refused === undefined);

  /** Returns whether the orders are new, which changes what the agent does. */
  function follow({ drain = false, refused }: HeartbeatAnswer): boolean {
    const { drain: drained = false, refused: before } = orders;
    orders = { drain, ...(refused !== undefined && { refused }) };
    if (drain && !drained) log.info("agent draining: ordered by an operator");
    if (!drain && drained) log.info("agent resumed");
    if (refused !== undefined && refused !== before)
      log.error({ reason: refused }, "agent refused by the hub");
    if (refused === undefined && before !== undefined) log.info("agent accepted by the hub");
    adapt().catch((err: unknown) => log.warn({ err }, "agent cannot take ticks; retrying"));
    return drain !== drained || refused !== before;
  }

  return {
    /** Starts taking ticks, unless the hub has ordered otherwise. */
    begin(): Promise<void> {
      phase = "running";
      return adapt();
    },
    follow,
    /** For heartbeats. */
    state(): string {
      if (phase === "stopped") return "stopped";
      return orders.drain || phase === "stopping" ? "draining" : "online";
    },
    /** Why the hub refuses the agent; undefined if it does not. */
    refusal: (): string | undefined => orders.refused,
    /** Stops taking ticks; resolves when those taken have ended or been given back. */
    async end(): Promise<void> {
      phase = "stopping";
      await adapt();
      await taking.settled();
      phase = "stopped";
    },
  };
}

/** Starts and stops taking ticks. */
function createTaking({ bus, locationId, intake }: DutySettings) {
  let consumer: Consumer | undefined;
  /** Pending drains, of consumers that take no more ticks. */
  const drains = new Set<Promise<void>>();
  let changing: Promise<void> = Promise.resolve();

  function leave(left: Consumer): void {
    consumer = undefined;
    const drained = left.drain();
    intake.stop();
    drains.add(drained);
    // `settled` rejects with this reason.
    void drained.finally(() => drains.delete(drained)).catch(() => undefined);
  }

  async function change(shouldTake: boolean): Promise<void> {
    if (!shouldTake && consumer) leave(consumer);
    if (!shouldTake || consumer) return;
    intake.resume();
    consumer = await bus.consumeTicks(locationId, (ticks, started) => intake.take(ticks, started));
  }

  return {
    /** Applies one change at a time; calls `shouldTake` when a change's turn comes. */
    set(shouldTake: () => boolean): Promise<void> {
      const changed = changing.then(() => change(shouldTake()));
      changing = changed.catch(() => undefined);
      return changed;
    },
    /** Resolves when the ticks of former consumers have ended or been given back. */
    async settled(): Promise<void> {
      await Promise.all(drains);
    },
  };
}
