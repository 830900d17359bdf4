// One call of a run, from its definition to its result.
import { resultWithoutCall } from "../model/result-without-call.ts";
import type { Result, ResultCode } from "../model/result.ts";
import type { Tick, TickCall } from "../model/tick.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import { readBehaviour } from "./http/behaviour.ts";
import type { Cookies } from "./http/cookies.ts";
import type { HttpCaller } from "./http/http-call.ts";
import { prepareRequest } from "./prepare-request.ts";
import { resultOfCall } from "./report.ts";
import type { Reporter } from "./report.ts";

export interface CallSettings {
  readonly clock: Clock;
  readonly log: Logger;
  readonly caller: HttpCaller;
  readonly reporter: Reporter;
  readonly version: string;
}

/** What the calls of one run share. */
export interface Run {
  /** With its secrets open. */
  readonly tick: Tick;
  /** Why the secrets could not be opened: no call of the run can be made. */
  readonly secretsFault?: string;
  /** Whether the run, and thus each of its calls, started late. */
  readonly isLate: boolean;
  /** Default: each call has its own. */
  readonly cookies?: Cookies;
}

/** Rejects with the reason of `cancel` only. */
export async function runCall(
  settings: CallSettings,
  run: Run,
  call: TickCall,
  cancel?: AbortSignal,
): Promise<Result> {
  try {
    return await makeCall(settings, run, call, cancel);
  } catch (cause) {
    cancel?.throwIfAborted();
    // Reported rather than thrown: a redelivered tick would only fail again.
    settings.log.error({ err: cause, call_id: call.call_id }, "call failed");
    const message = "agent_error: the agent failed at this call; see its log";
    const outcome = { result: "AGENT_ERROR", message } as const;
    return resultWithoutCall(run.tick, call, outcome, settings.reporter.agentId);
  }
}

async function makeCall(
  { clock, caller, reporter, version }: CallSettings,
  { tick, secretsFault, isLate, cookies }: Run,
  call: TickCall,
  cancel: AbortSignal | undefined,
): Promise<Result> {
  const unmade = (result: ResultCode, message: string): Result =>
    resultWithoutCall(tick, call, { result, message }, reporter.agentId);
  if (call.unable !== undefined) return unmade("UNABLE_TO_RUN", call.unable);
  const behaviour = readBehaviour(call.tags);
  if (typeof behaviour === "string") return unmade("UNABLE_TO_RUN", behaviour);
  if (secretsFault !== undefined) return unmade("AGENT_ERROR", secretsFault);
  const prepared = await prepareRequest(tick, call, { version, now: clock.now() });
  if ("result" in prepared) return unmade(prepared.result, prepared.message);
  const { request, note, secrets } = prepared;
  const start = clock.now();
  const made = await caller.call(request, behaviour, cancel, cookies);
  const message = [made.message, note].filter(Boolean).join("; ") || null;
  return resultOfCall(reporter, tick, call, {
    outcome: { ...made, message },
    start,
    isLate,
    secrets,
  });
}
