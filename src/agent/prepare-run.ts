// Turns a tick into a run that can start at once: each call is ready, or has its fault.
import { DEFAULT_BEHAVIOUR, readBehaviour } from "../model/behaviour.ts";
import type { Behaviour } from "../model/behaviour.ts";
import type { ResultCode } from "../model/result.ts";
import { isLate } from "../model/tick.ts";
import type { Tick, TickCall } from "../model/tick.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import { createCookies } from "./http/cookies.ts";
import type { Cookies } from "./http/cookies.ts";

export interface PrepareSettings {
  readonly clock: Clock;
  readonly log: Logger;
}

/** A tick that can start at once. */
export interface Run {
  readonly tick: Tick;
  readonly isLate: boolean;
  /** In the order in which they are made. */
  readonly steps: readonly Step[];
  /** Default: each call has its own. */
  readonly cookies?: Cookies;
  /** Secrets that its calls have sent so far. */
  readonly secrets: Set<string>;
}

export interface Step {
  readonly call: TickCall;
  readonly behaviour: Behaviour;
  readonly fault?: Fault | undefined;
}

/** Why a call cannot be made. */
export interface Fault {
  readonly result: ResultCode;
  readonly message: string;
}

/** `start`: when the run starts, in epoch milliseconds. */
export const prepareRun = (settings: PrepareSettings, tick: Tick, start: number): Run => ({
  tick,
  isLate: isLate(tick, start),
  steps: tick.calls.map((call) => stepOf(settings, call)),
  secrets: new Set(),
  ...(tick.workflow?.handle_cookies && { cookies: createCookies(settings.clock) }),
});

export function stepOf(settings: PrepareSettings, call: TickCall): Step {
  const behaviour = DEFAULT_BEHAVIOUR;
  const unable = (message: string): Step => ({
    call,
    behaviour,
    fault: { result: "UNABLE_TO_RUN", message },
  });
  try {
    if (call.unable !== undefined) return unable(call.unable);
    const read = readBehaviour(call.tags);
    return typeof read === "string" ? unable(read) : { call, behaviour: read };
  } catch (cause) {
    return { call, behaviour, fault: agentFault(settings, call, cause) };
  }
}

export const logFault = ({ log }: PrepareSettings, { call_id }: TickCall, err: unknown): void =>
  log.error({ err, call_id }, "call failed");

/** Logs the failure and returns it: a thrown one would redeliver the tick, only to fail again. */
export function agentFault(settings: PrepareSettings, call: TickCall, cause: unknown): Fault {
  logFault(settings, call, cause);
  const message = "agent_error: the agent failed during this call; see its log";
  return { result: "AGENT_ERROR", message };
}
