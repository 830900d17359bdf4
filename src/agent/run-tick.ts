// One tick to its report. A tick's calls are made here, one after the other.
import { randomUUID } from "node:crypto";
import type { Result, RunReport } from "../model/result.ts";
import type { Tick, TickCall } from "../model/tick.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import { readBehaviour } from "./behaviour.ts";
import type { HttpCaller } from "./http-call.ts";
import { prepareRequest } from "./prepare-request.ts";
import { reportOf, resultOfCall, resultWithoutCall } from "./report.ts";
import type { Reporter } from "./report.ts";

export interface TickRunner {
  /** Makes the calls, now. Rejects with the reason of `cancel` only. */
  run(tick: Tick, cancel?: AbortSignal): Promise<RunReport>;
  /** For a tick that is about to start after its `latest_start`: no call is made. */
  miss(tick: Tick): RunReport;
}

export function createTickRunner({
  clock,
  log,
  caller,
  reporter,
  version,
}: {
  readonly clock: Clock;
  readonly log: Logger;
  readonly caller: HttpCaller;
  readonly reporter: Reporter;
  readonly version: string;
}): TickRunner {
  // The lines of calls hold ids, codes and numbers only. Looking for secrets in them costs as much as a fifth of a call.
  const lines = log.child({}, { redact: [] });
  const unable = (tick: Tick, call: TickCall, message: string): Result =>
    resultWithoutCall(reporter, tick, call, {
      result: "UNABLE_TO_RUN",
      message,
    });

  const runCall = async (
    tick: Tick,
    call: TickCall,
    cancel: AbortSignal | undefined,
  ): Promise<Result> => {
    const behaviour = readBehaviour(call.tags);
    if (typeof behaviour === "string") return unable(tick, call, behaviour);
    const guid = randomUUID();
    const prepared = await prepareRequest(tick, call, {
      version,
      now: clock.now(),
      guid,
    });
    if ("result" in prepared)
      return resultWithoutCall(reporter, tick, call, prepared);
    const { request, note, mask } = prepared;
    const start = clock.now();
    const made = await caller.call(request, behaviour, cancel);
    const span = { start, end: clock.now() };
    const message = [made.message, note].filter(Boolean).join("; ") || null;
    const outcome = { ...made, message };
    return resultOfCall(reporter, tick, call, outcome, span, mask);
  };

  return {
    async run(tick, cancel) {
      const lateness_ms = clock.now() - tick.due_time;
      const results: Result[] = [];
      for (const call of tick.calls) {
        const result = await runCall(tick, call, cancel);
        lines.info(logged(result, lateness_ms), "call finished");
        results.push(result);
      }
      return reportOf(reporter, tick, results);
    },
    miss(tick) {
      const lateness_ms = clock.now() - tick.due_time;
      const message = lateMessage(tick, lateness_ms);
      const results = tick.calls.map((call) =>
        resultWithoutCall(reporter, tick, call, { result: "MISSED", message }),
      );
      for (const result of results)
        lines.warn(logged(result, lateness_ms), "tick missed");
      return reportOf(reporter, tick, results);
    },
  };
}

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`;

const lateMessage = (tick: Tick, lateness: number): string =>
  `started too late: the agent was ready ${seconds(lateness)} after the due time, the limit is ${seconds(tick.latest_start - tick.due_time)}`;

const logged = ({ id, meta, timing }: Result, lateness_ms: number) => ({
  call_id: meta.call_id,
  result_id: id,
  result: meta.result,
  http_code: meta.http_code,
  latency_ms: timing.total,
  lateness_ms,
});
