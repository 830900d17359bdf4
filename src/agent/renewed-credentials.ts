// Refreshes the credentials of a workflow's later calls: replaces a token that expires during the
// run with the one that the hub has renewed.
import type { AgentBus } from "../bus/bus.ts";
import type { Authorization } from "../model/authorization.ts";
import type { CallCredentials } from "../model/call-credentials.ts";
import type { Tick, TickCall } from "../model/tick.ts";
import { credentialFault } from "./authorize/authorize.ts";
import { stepOf } from "./prepare-run.ts";
import type { PrepareSettings, Step } from "./prepare-run.ts";

export interface CredentialsSettings extends PrepareSettings {
  /** Connects to the hub. Default: a run keeps its initial credentials. */
  readonly bus?: Pick<AgentBus, "requestCredentials"> | undefined;
}

/** A call may wait this long for its turn, and its credentials must last as long. */
const MARGIN_MS = 5000;
/** How often to ask while the renewal is in progress or the hub does not answer. */
const ASK_EVERY_MS = 1000;
const PATIENCE_MS = 10_000;
/** For all calls of a run together, since its time in the ledger is limited. */
const PATIENCE_OF_RUN_MS = 20_000;

export function createRenewedCredentials(
  settings: CredentialsSettings,
  tick: Tick,
  cancel: AbortSignal | undefined,
) {
  const { bus, clock, log } = settings;
  /** By the tick's authorization as JSON: calls that share one share its successor. */
  const successors = new Map<string, Authorization>();
  let runPatienceMs = PATIENCE_OF_RUN_MS;

  const lasts = ({ call }: Step, ms: number): boolean =>
    !call.authorization || credentialFault(call.authorization, clock.now() + ms) === undefined;

  /** Returns the step with the hub's current credentials; null if the hub does not answer. */
  async function ask({ call }: Step): Promise<Step | null> {
    const { location_id, result_id: run_id } = tick;
    const request = { location_id, run_id, result_id: call.result_id };
    const answer = await bus?.requestCredentials(request).catch(() => null);
    cancel?.throwIfAborted();
    return answer ? answered(settings, call, answer) : null;
  }

  async function renew(step: Step, key: string): Promise<Step> {
    const until = clock.monotonic() + Math.min(PATIENCE_MS, runPatienceMs);
    let latest = step;
    for (;;) {
      const fresh = await ask(step);
      if (fresh?.fault) return fresh;
      if (fresh) {
        const { authorization } = fresh.call;
        if (!authorization) return latest;
        latest = fresh;
        successors.set(key, authorization);
        const { is_renewed, renewal_failure } = authorization.token ?? {};
        if (!is_renewed || renewal_failure) return latest; // no other will come
      }
      const isOver = clock.monotonic() + ASK_EVERY_MS >= until;
      if (lasts(latest, 0) || isOver) return latest;
      await clock.pause(ASK_EVERY_MS, cancel);
    }
  }

  return {
    /** Returns the step with its latest credentials. Rejects only on `cancel`, with its reason. */
    async renewed(step: Step): Promise<Step> {
      const { authorization } = step.call;
      if (!bus || step.fault || !authorization?.token?.is_renewed) return step;
      const key = JSON.stringify(authorization);
      const held = successors.get(key) ?? authorization;
      const latest = { ...step, call: { ...step.call, authorization: held } };
      if (lasts(latest, MARGIN_MS) || runPatienceMs <= 0) return latest;
      const began = clock.monotonic();
      const renewed = await renew(latest, key);
      runPatienceMs -= clock.monotonic() - began;
      const { call_id } = step.call;
      if (!lasts(renewed, 0)) log.warn({ run_id: tick.result_id, call_id }, "token not renewed");
      return renewed;
    },
  };
}

/** The step with only the credentials of the answer. */
const answered = (
  settings: CredentialsSettings,
  call: TickCall,
  { authorization, unable }: CallCredentials,
): Step =>
  stepOf(settings, {
    ...call,
    authorization: authorization ?? null,
    ...(unable !== undefined && { unable }),
  });
