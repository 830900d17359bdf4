// The phases of a call as the pages show them: names, and where each lies in time.
import type { ListedResult } from "../../../src/model/result.ts";
import { sum } from "../../../src/model/sum.ts";
import type { Phase, Timing } from "../../../src/model/timing.ts";

interface PhaseName {
  readonly name: string;
  readonly meaning: string;
}

/** In the order in which they happen. */
export const PHASE_NAMES: Readonly<Record<Phase, PhaseName>> = {
  dns: { name: "DNS", meaning: "the name is looked up" },
  tcp: { name: "TCP", meaning: "the connection is made" },
  handshake: { name: "Handshake", meaning: "TLS is negotiated" },
  upload: { name: "Upload", meaning: "the request is sent" },
  processing: { name: "Processing", meaning: "until the first byte of the response" },
  download: { name: "Download", meaning: "until the last byte of the response" },
};

export const PHASE_ORDER = Object.keys(PHASE_NAMES) as readonly Phase[];

/** The exchanges before the last one, where they have no rows of their own. */
export const REDIRECTS = "redirects";

/** The rest of a call that ended within a phase, whose own length is unknown. */
const UNFINISHED = "unfinished";

/** The part of a completed call that belongs to no phase. */
export const BETWEEN = "between";

/** Bars that are not phases. */
const OTHER_NAMES = {
  [REDIRECTS]: { name: "Redirects", meaning: "the exchanges before the last one" },
  [UNFINISHED]: { name: "Not completed", meaning: "until the call ended" },
  [BETWEEN]: {
    name: "Between phases",
    meaning: "such as the agent's own work",
  },
} as const satisfies Readonly<Record<string, PhaseName>>;

type Bar = Phase | keyof typeof OTHER_NAMES;

const BARS: Readonly<Record<Bar, PhaseName>> = { ...PHASE_NAMES, ...OTHER_NAMES };

/** In the order in which they are drawn. */
export const BAR_ORDER: readonly Bar[] = [REDIRECTS, ...PHASE_ORDER, UNFINISHED, BETWEEN];

export const nameOfBar = (bar: Bar): PhaseName => BARS[bar];

/** The least rest that is shown, in milliseconds: less comes from rounding. */
const SHOWN_MS = 0.01;

export interface Span {
  readonly phase: Bar;
  readonly name: string;
  /** Milliseconds from the start of the call. */
  readonly from: number;
  readonly ms: number;
}

/**
 * Returns the phases that one exchange reached, each after the one before it. The total may include
 * `redirectsMs` of earlier exchanges.
 */
export function spansOf(timing: Timing, redirectsMs = 0): Span[] {
  const spans: Span[] = [];
  if (redirectsMs >= SHOWN_MS)
    spans.push({ phase: REDIRECTS, name: BARS[REDIRECTS].name, from: 0, ms: redirectsMs });
  let from = redirectsMs;
  for (const phase of PHASE_ORDER) {
    const ms = timing[phase];
    if (ms === null) continue;
    spans.push({ phase, name: BARS[phase].name, from, ms });
    from += ms;
  }
  const left = (timing.total ?? 0) - from;
  const rest = timing.download === null ? UNFINISHED : BETWEEN;
  if (left >= SHOWN_MS) spans.push({ phase: rest, name: BARS[rest].name, from, ms: left });
  return spans;
}

interface Timed {
  readonly timing: Timing;
  readonly redirectsMs?: number;
}

export const spansIn = ({ timing, redirectsMs }: Timed): Span[] => spansOf(timing, redirectsMs);

export const msOf = (row: Timed, bar: Bar): number | undefined =>
  spansIn(row).find(({ phase }) => phase === bar)?.ms;

/** Returns how long the exchanges before the last one took; their details may have been removed. */
export function redirectsOf({ meta, timing, hops }: ListedResult): number {
  if (hops.length > 0) return sum(hops.map((hop) => hop.timing.total ?? 0));
  if (meta.redirects === 0 || timing.total === null || timing.download === null) return 0;
  return Math.max(0, timing.total - sum(PHASE_ORDER.map((phase) => timing[phase] ?? 0)));
}

/** Returns the end of the last phase, or the total if that is later, in milliseconds. */
export function lengthOf(timing: Timing): number {
  const last = spansOf(timing).at(-1);
  return Math.max(timing.total ?? 0, last ? last.from + last.ms : 0);
}

/** Returns the marks of an axis from 0 to at most `end`: round numbers, six at most. */
export function ticksTo(end: number): number[] {
  if (end <= 0) return [0];
  const rough = end / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough) ?? rough;
  const ticks: number[] = [];
  for (let n = 0; n * step <= end * 1.000001; n += 1) ticks.push(n * step);
  return ticks;
}
