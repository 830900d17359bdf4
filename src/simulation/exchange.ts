// One simulated exchange of a call with its service: how long each phase takes, and how it ends.
import type { ResultCode } from "../model/result.ts";
import { NO_TIMING } from "../model/timing.ts";
import type { Timing } from "../model/timing.ts";
import type { Conditions } from "./conditions.ts";
import type { Failure } from "./kinds.ts";
import type { Series } from "./plan.ts";
import type { Random } from "./random.ts";

export interface Exchange {
  readonly result: ResultCode;
  readonly message: string | null;
  /** Null where no response came. */
  readonly status: number | null;
  readonly timing: Timing;
}

const DEADLINE_MS = 30_000;
/** Results whose time says little about the target: the agent was busy. */
const UNCERTAIN = 0.002;
const UNCACHED_NAME = 0.03;

const RESPONSES: Partial<Record<Failure, readonly [result: ResultCode, status: number]>> = {
  unavailable: ["HTTP_SERVER_ERROR", 503],
  broken: ["HTTP_SERVER_ERROR", 500],
  not_found: ["HTTP_CLIENT_ERROR", 404],
};

export function exchange(series: Series, conditions: Conditions, random: Random): Exchange {
  const { kind } = series.call;
  const failure = random.chance(conditions.failing) ? random.pick(kind.failures) : undefined;
  const times = phases(series, conditions, random);
  if (failure === undefined)
    return times.processing < DEADLINE_MS ? answered(times, "COMPLETE", 200) : noAnswer(times);
  const [result, status] = RESPONSES[failure] ?? [];
  if (result && status) {
    // An error is found sooner than an answer.
    const processing = times.processing * random.between(0.2, 0.9);
    return answered({ ...times, processing }, result, status);
  }
  if (failure === "no_answer") return noAnswer(times);
  return failure === "refused" ? refused(series, times) : reset(times, random);
}

type Times = Readonly<
  Record<"dns" | "tcp" | "handshake" | "upload" | "processing" | "download" | "uncertainty", number>
>;

function phases({ call, location }: Series, conditions: Conditions, random: Random): Times {
  const { kind } = call;
  const { distance } = location;
  const tail = random.chance(kind.tail) ? 3 / Math.sqrt(random.between(0.02, 1)) : 1; // Pareto
  const work = random.logNormal(kind.work * conditions.slowness, kind.spread) * tail;
  const busy = random.chance(UNCERTAIN) ? Math.max(12, work * random.between(0.2, 0.6)) : 0;
  return {
    dns: random.chance(UNCACHED_NAME) ? random.between(12, 50) : random.logNormal(0.8, 0.4),
    tcp: random.logNormal(distance, 0.05),
    handshake: random.logNormal(distance + 1.5, 0.06),
    upload: random.between(0.04, 0.3),
    processing: random.logNormal(distance, 0.05) + work + busy,
    download: random.logNormal(0.9, 0.5),
    uncertainty: busy + random.between(0.05, 0.6),
  };
}

const SUM = ["dns", "tcp", "handshake", "upload", "processing", "download"] as const;

/** The phases that were reached, to three decimals, and what they add up to. */
function timingOf(reached: Partial<Times>, more = 0): Timing {
  const rounded = Object.fromEntries(
    Object.entries(reached).map(([phase, ms]) => [phase, toThree(ms)]),
  );
  const total = SUM.reduce((sum, phase) => sum + (rounded[phase] ?? 0), more);
  return { ...NO_TIMING, ...rounded, total: toThree(total) };
}

/** Milliseconds, to three decimals. */
export const toThree = (ms: number): number => Math.round(ms * 1000) / 1000;

const answered = (times: Times, result: ResultCode, status: number): Exchange => ({
  result,
  message: null,
  status,
  timing: timingOf(times),
});

const unanswered = (message: string, timing: Timing): Exchange => ({
  result: "CONNECTION_ERROR",
  message,
  status: null,
  timing,
});

function noAnswer({ dns, tcp, handshake, upload, uncertainty }: Times): Exchange {
  const reached = { dns, tcp, handshake, upload, uncertainty };
  const waited = DEADLINE_MS + 1 - dns - tcp - handshake - upload;
  return unanswered("timeout: the call was not complete within 30 s", timingOf(reached, waited));
}

const refused = ({ call, location }: Series, { dns, uncertainty }: Times): Exchange =>
  unanswered(
    `connect_refused: ${call.domain} refused the connection`,
    timingOf({ dns, uncertainty }, location.distance),
  );

function reset({ dns, tcp, handshake, upload, uncertainty }: Times, random: Random): Exchange {
  const reached = { dns, tcp, handshake, upload, uncertainty };
  return unanswered(
    "reset: the connection was closed before a response came",
    timingOf(reached, random.between(1, 40)),
  );
}
