// From a tick to a run that can start at once: its secrets opened, and each call either ready or
// with the fault for which it cannot be made.
import type { ResultCode } from "../model/result.ts";
import { placeOf, tickSecretsValidator, withSecrets } from "../model/tick.ts";
import type { Tick, TickCall, TickSecrets } from "../model/tick.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import { SealError } from "../runtime/secrets.ts";
import type { Sealer } from "../runtime/secrets.ts";
import { DEFAULT_BEHAVIOUR, readBehaviour } from "./http/behaviour.ts";
import type { Behaviour } from "./http/behaviour.ts";
import { createCookies } from "./http/cookies.ts";
import type { Cookies } from "./http/cookies.ts";

export interface PrepareSettings {
  readonly clock: Clock;
  readonly log: Logger;
  /** Opens sealed secrets. Default: the agent has no location key. */
  readonly sealer?: Sealer | undefined;
}

/** A tick that can start at once. */
export interface Run {
  /** With its secrets open. */
  readonly tick: Tick;
  /** In the order in which they are made. */
  readonly steps: readonly Step[];
  /** Default: each call has its own. */
  readonly cookies?: Cookies;
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

export async function prepareRun(settings: PrepareSettings, tick: Tick): Promise<Run> {
  const { clock, sealer } = settings;
  const opened = await openTick(tick, sealer);
  const open = typeof opened === "string" ? tick : opened;
  const secretsFault = typeof opened === "string" ? opened : undefined;
  return {
    tick: open,
    steps: open.calls.map((call) => stepOf(settings, call, secretsFault)),
    ...(tick.workflow?.handle_cookies && { cookies: createCookies(clock) }),
  };
}

/**
 * The tick with its secrets in their places, or why they cannot be opened: a sentence for the
 * operator. `sealer` has the location's keys.
 */
export async function openTick(tick: Tick, sealer: Sealer | undefined): Promise<Tick | string> {
  if (tick.sealed === undefined) return tick;
  if (!sealer)
    return "no_location_key: the agent has no key for the run's credentials; give it SONDE_LOCATION_KEY, which `sonde locations env` prints";
  try {
    const secrets = read(await sealer.open(tick.sealed, placeOf(tick)));
    return secrets
      ? withSecrets(tick, secrets)
      : "agent_error: this agent cannot read the run's credentials; its version may be older than the hub's";
  } catch (cause) {
    if (!(cause instanceof SealError)) throw cause;
    return "wrong_location_key: the agent's SONDE_LOCATION_KEY does not open the run's credentials; `sonde locations env` prints the current one";
  }
}

function read(text: string): TickSecrets | undefined {
  try {
    const secrets: unknown = JSON.parse(text);
    return tickSecretsValidator.accepts(secrets) ? secrets : undefined;
  } catch {
    return undefined;
  }
}

/** `secretsFault`: why its secrets could not be opened. */
export function stepOf(
  settings: PrepareSettings,
  call: TickCall,
  secretsFault: string | undefined,
): Step {
  const unable = (message: string): Fault => ({ result: "UNABLE_TO_RUN", message });
  let behaviour = DEFAULT_BEHAVIOUR;
  try {
    if (call.unable !== undefined) return { call, behaviour, fault: unable(call.unable) };
    const read = readBehaviour(call.tags);
    if (typeof read === "string") return { call, behaviour, fault: unable(read) };
    behaviour = read;
  } catch (cause) {
    return { call, behaviour, fault: agentFault(settings, call, cause) };
  }
  if (secretsFault === undefined) return { call, behaviour };
  return { call, behaviour, fault: { result: "AGENT_ERROR", message: secretsFault } };
}

/** Reported rather than thrown: a redelivered tick would only fail again. */
export function agentFault({ log }: PrepareSettings, call: TickCall, cause: unknown): Fault {
  log.error({ err: cause, call_id: call.call_id }, "call failed");
  const message = "agent_error: the agent failed at this call; see its log";
  return { result: "AGENT_ERROR", message };
}
