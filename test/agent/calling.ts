// Fixtures for the agent's tests: ticks, and callers whose egress rules allow loopback.
import { DEFAULT_BEHAVIOUR } from "../../src/model/behaviour.ts";
import type { Behaviour } from "../../src/model/behaviour.ts";
import { buildRequest } from "../../src/agent/build-request.ts";
import type { HttpRequest } from "../../src/agent/http/http-request.ts";
import { parseEgressAllow } from "../../src/net/egress.ts";
import { createHttpCaller } from "../../src/agent/http/http-call.ts";
import type { CallOutcome } from "../../src/agent/http/http-call.ts";
import { createHostResolver } from "../../src/net/resolve-host.ts";
import type { HostResolver } from "../../src/net/resolve-host.ts";
import { timingOf } from "../../src/agent/http/trace.ts";
import { makeRun } from "../../src/agent/make-run.ts";
import type { RunControl, RunSettings } from "../../src/agent/make-run.ts";
import type { RunReport } from "../../src/model/result.ts";
import type { Tick, TickCall, TickWorkflow } from "../../src/model/tick.ts";
import type { Timing } from "../../src/model/timing.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import type { Clock } from "../../src/runtime/clock.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import type { Logger } from "../../src/runtime/logger.ts";

export const newCall = (
  request: Partial<TickCall["request"]> = {},
  rest: Partial<Omit<TickCall, "request">> = {},
): TickCall => ({
  result_id: "result",
  call_id: "call",
  name: "A call",
  domain: "target.example",
  tags: [],
  ...rest,
  request: {
    method: "GET",
    url: "http://target.example/",
    parameters: [],
    headers: [],
    body: null,
    ...request,
  },
});

export const newTick = (
  call: TickCall,
  times: Partial<Pick<Tick, "trigger_time" | "due_time" | "latest_start">> = {},
): Tick => ({
  result_id: call.result_id,
  trigger: "SCHEDULE",
  trigger_time: 0,
  due_time: 0,
  latest_start: 30_000,
  deployment_id: null, // if set, the run would start somewhere within its second
  location_id: "here",
  context: {},
  calls: [call],
  ...times,
});

/** A workflow that stops on failure, without cookies and delays. */
export const newWorkflow = (rest: Partial<TickWorkflow> = {}): TickWorkflow => ({
  workflow_id: "workflow",
  name: "A workflow",
  stop_on_failure: true,
  handle_cookies: false,
  between_calls_delay: 0,
  ...rest,
});

export function newRunSettings(rest: Partial<RunSettings> = {}): RunSettings {
  const { clock = systemClock } = rest;
  return {
    clock,
    log: createLogger("silent"),
    caller: createHttpCaller({ clock, egress: parseEgressAllow(["127.0.0.1"]) }),
    reporter: { locationId: "here", agentId: "agent" },
    version: "1.2.3",
    ...rest,
  };
}

/** Runs the tick at once, with a thread of its own. */
export const runTick = (
  settings: RunSettings,
  tick: Tick,
  control: Partial<RunControl> = {},
): Promise<RunReport> =>
  makeRun(settings, tick, {
    pause: (ms) => settings.clock.pause(ms, control.cancel),
    resume: () => Promise.resolve(),
    chore: () => Promise.resolve(),
    ...control,
  });

export function requestOf(url: string, request: Partial<TickCall["request"]> = {}): HttpRequest {
  const built = buildRequest(newCall({ url, ...request }), { runId: "run", version: "1.2.3" });
  if ("reason" in built) throw new Error(built.reason);
  return built.request;
}

export interface CallOptions {
  readonly allow?: readonly string[];
  readonly request?: Partial<TickCall["request"]>;
  readonly behaviour?: Partial<Behaviour>;
  readonly ca?: string;
  readonly resolver?: HostResolver;
  readonly clock?: Clock;
  readonly log?: Logger;
}

/** Makes a call with real time; loopback is allowed unless said otherwise. */
export function call(
  url: string,
  {
    allow = ["127.0.0.0/8", "::1"],
    request,
    behaviour,
    ca,
    clock = systemClock,
    resolver = createHostResolver({ clock }),
    log,
  }: CallOptions = {},
): Promise<CallOutcome> {
  const caller = createHttpCaller({
    clock,
    egress: parseEgressAllow(allow),
    resolver,
    ...(log && { log }),
    ...(ca !== undefined && { ca }),
  });
  return caller.call(requestOf(url, request), {
    ...DEFAULT_BEHAVIOUR,
    ...behaviour,
  });
}

export const timingOfCall = ({ hops, last }: CallOutcome): Timing => timingOf(last, hops[0]);

/** The code that a failure's message begins with. */
export const codeOf = ({ message }: CallOutcome): string | undefined => message?.split(":")[0];

export const statusOf = ({ last }: CallOutcome): number | undefined => last.response?.status_code;
