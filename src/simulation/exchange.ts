// One simulated exchange of a call with its service: how it ends, and how long each phase takes.
import type { ResultCode } from "../model/result.ts";
import { NO_TIMING, PHASES } from "../model/timing.ts";
import type { Phase, Timing } from "../model/timing.ts";
import type { Conditions } from "./conditions.ts";
import type { Series } from "./plan.ts";
import type { Random } from "./random.ts";
import type { Failure } from "./services.ts";

export interface Exchange {
  readonly result: ResultCode;
  readonly message: string | null;
  /** Null if no response arrived. */
  readonly status: number | null;
  readonly timing: Timing;
}

const DEADLINE_MS = 30_000;
/** The share of results whose time says little about the target, because the agent was busy. */
const UNCERTAIN = 0.002;
const UNCACHED_NAME = 0.03;

interface Ending extends Omit<Exchange, "timing"> {
  /** How many of the phases were reached. */
  readonly reached: number;
}

const ENDINGS: Readonly<Record<Failure | "passed", Ending>> = {
  passed: { result: "COMPLETE", message: null, status: 200, reached: 6 },
  unavailable: { result: "HTTP_SERVER_ERROR", message: null, status: 503, reached: 6 },
  broken: { result: "HTTP_SERVER_ERROR", message: null, status: 500, reached: 6 },
  timeout: withoutResponse("timeout: the call did not complete within 30 s", 4),
  reset: withoutResponse("reset: the connection was closed before a response arrived", 4),
  refused: withoutResponse("connect_refused: the service refused the connection", 1),
};

function withoutResponse(message: string, reached: number): Ending {
  return { result: "CONNECTION_ERROR", message, status: null, reached };
}

export function exchange(series: Series, conditions: Conditions, random: Random): Exchange {
  const { call, location } = series;
  const isFailing = random.chance(conditions.failing);
  const planned = isFailing ? random.pick(call.service.failures) : "passed";
  const times = timesOf(series, conditions, random);
  const ending = times.processing < DEADLINE_MS ? planned : "timeout";
  const { reached, ...outcome } = ENDINGS[ending];
  const timing = { ...NO_TIMING, uncertainty: toThree(times.uncertainty), total: 0 };
  for (const phase of PHASES.slice(0, reached)) {
    timing[phase] = toThree(times[phase]);
    timing.total += timing[phase];
  }
  if (ending === "timeout") timing.total = DEADLINE_MS + 1;
  if (ending === "reset") timing.total += random.between(1, 40);
  if (ending === "refused") timing.total += location.distance;
  return { ...outcome, timing: { ...timing, total: toThree(timing.total) } };
}

type Times = Readonly<Record<Phase | "uncertainty", number>>;

function timesOf({ call, location }: Series, { slowness }: Conditions, random: Random): Times {
  const { work: median, spread, tail } = call.service;
  const { distance } = location;
  const stretch = random.chance(tail) ? 3 / Math.sqrt(random.between(0.02, 1)) : 1; // Pareto
  const work = random.logNormal(median * slowness, spread) * stretch;
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

/** Milliseconds, to three decimals. */
const toThree = (ms: number): number => Math.round(ms * 1000) / 1000;
