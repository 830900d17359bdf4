// The calls of a tick, opened together, and each to its result: prepared, made, told of.
import { randomUUID } from "node:crypto";
import type { Result, ResultCode } from "../model/result.ts";
import { withSecrets } from "../model/tick-secrets.ts";
import type { TickSecrets } from "../model/tick-secrets.ts";
import type { Tick, TickCall } from "../model/tick.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import { readBehaviour } from "./http/behaviour.ts";
import type { Cookies } from "./http/cookie-jar.ts";
import type { HttpCaller } from "./http/http-call.ts";
import { createTickOpener } from "./open-tick.ts";
import type { TickOpener } from "./open-tick.ts";
import { prepareRequest } from "./prepare-request.ts";
import { resultWithoutCall } from "../model/result-without-call.ts";
import { resultOfCall } from "./report.ts";
import type { Reporter } from "./report.ts";

/**
 * Makes one call of the tick, with the tick's context. Rejects with the reason of `cancel` only.
 */
export type RunCall = (
  tick: Tick,
  call: TickCall,
  cancel?: AbortSignal,
  /** Those of the calls before it; by default it has its own. */
  cookies?: Cookies,
) => Promise<Result>;

/** Opens the secrets of a tick, once for all its calls. */
export type OpenCalls = (tick: Tick) => Promise<RunCall>;

export interface CallRunnerSettings {
  readonly clock: Clock;
  readonly caller: HttpCaller;
  readonly reporter: Reporter;
  readonly version: string;
  readonly log: Logger;
  /** By default, one without a key. */
  readonly openTick?: TickOpener;
}

export function createCallRunner(settings: CallRunnerSettings): OpenCalls {
  const { openTick = createTickOpener([]) } = settings;
  return async (tick) => tellingFaults(settings, callRunnerWith(settings, await openTick(tick)));
}

/** A fault of the agent at one delivery would be one at the next, too: it is told of instead. */
const tellingFaults =
  ({ log, reporter }: CallRunnerSettings, runCall: RunCall): RunCall =>
  async (tick, call, cancel, cookies) => {
    try {
      return await runCall(tick, call, cancel, cookies);
    } catch (cause) {
      cancel?.throwIfAborted();
      log.error({ err: cause, call_id: call.call_id }, "call failed");
      const message = "agent_error: the agent failed at this call; see its log";
      return resultWithoutCall(tick, call, { result: "AGENT_ERROR", message }, reporter.agentId);
    }
  };

function callRunnerWith(
  { clock, caller, reporter, version }: CallRunnerSettings,
  secrets: TickSecrets | string,
): RunCall {
  return async (tick, call, cancel, cookies) => {
    const unmade = (result: ResultCode, message: string): Result =>
      resultWithoutCall(tick, call, { result, message }, reporter.agentId);
    if (call.unable !== undefined) return unmade("UNABLE_TO_RUN", call.unable);
    const behaviour = readBehaviour(call.tags);
    if (typeof behaviour === "string") return unmade("UNABLE_TO_RUN", behaviour);
    if (typeof secrets === "string") return unmade("AGENT_ERROR", secrets);
    const opened = withSecrets(tick, call, secrets);
    const prepared = await prepareRequest(opened.tick, opened.call, {
      version,
      now: clock.now(),
      newGuid: randomUUID,
    });
    if ("result" in prepared) return unmade(prepared.result, prepared.message);
    const { request, note } = prepared;
    const start = clock.now();
    const made = await caller.call(request, behaviour, cancel, cookies);
    const message = [made.message, note].filter(Boolean).join("; ") || null;
    const outcome = { ...made, message };
    return resultOfCall(reporter, tick, call, outcome, start, prepared.secrets);
  };
}
