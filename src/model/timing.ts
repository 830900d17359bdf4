// The durations of a call's phases, and the uncertainty of its total.
import type { Static } from "typebox";
import { nullable } from "./fields.ts";
import { DAY_MS } from "./periods.ts";
import { Type } from "./type.ts";

/** In the order in which a call goes through them. */
export const PHASES = ["dns", "tcp", "handshake", "upload", "processing", "download"] as const;
export type Phase = (typeof PHASES)[number];

/** Returns a value for each phase. */
export const byPhase = <T>(valueOf: (phase: Phase) => T): Record<Phase, T> =>
  Object.fromEntries(PHASES.map((phase) => [phase, valueOf(phase)])) as Record<Phase, T>;

/** A month of the longest, in microseconds, still has an exact sum: node:sqlite reads no others. */
const Ms = nullable(
  Type.Number({
    minimum: 0,
    maximum: DAY_MS,
    description: "milliseconds, 3 decimals; null: not reached",
  }),
);

/**
 * Milliseconds with 3 decimals; null: the phase was not reached. `total` runs from the start of
 * the first lookup to the last body byte, redirects included, or to the failure that ended the
 * call; null if no call was made. `uncertainty` is an upper bound on how much the agent's own
 * work may have lengthened `total`; null also in results from agents that do not report it.
 */
export const TimingSchema = Type.Object(
  {
    dns: Ms,
    tcp: Ms,
    handshake: Ms,
    upload: Ms,
    processing: Ms,
    download: Ms,
    total: Ms,
    uncertainty: Ms,
  },
  {
    examples: [
      {
        dns: 2.1,
        tcp: 11.5,
        handshake: 24,
        upload: 0.2,
        processing: 48.9,
        download: 0.9,
        total: 87.6,
        uncertainty: 0.4,
      },
    ],
  },
);
export type Timing = Static<typeof TimingSchema>;

/** Agents of earlier versions report no `uncertainty`. */
export const ReportedTimingSchema = Type.Object({
  ...TimingSchema.properties,
  uncertainty: Type.Optional(Ms),
});

export type ReportedTiming = Static<typeof ReportedTimingSchema>;

/** Where no phase was reached. */
export const NO_PHASES: Readonly<Record<Phase, null>> = byPhase(() => null);

export const NO_TIMING: Timing = { ...NO_PHASES, total: null, uncertainty: null };

/** Converts to whole microseconds, in which results are stored and summed. */
export const toMicros = (ms: number | null): number | null =>
  ms === null ? null : Math.round(ms * 1000);

export const phasesInMicros = (timing: Pick<Timing, Phase>): Record<Phase, number | null> => ({
  dns: toMicros(timing.dns),
  tcp: toMicros(timing.tcp),
  handshake: toMicros(timing.handshake),
  upload: toMicros(timing.upload),
  processing: toMicros(timing.processing),
  download: toMicros(timing.download),
});

/** Returns the milliseconds that `toMicros` was given, to three decimals. */
export const fromMicros = (us: number | null): number | null => (us === null ? null : us / 1000);
