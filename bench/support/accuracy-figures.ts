// The figures of one scenario of the accuracy benchmark, and their goals.
import { isUncertain } from "../../src/model/uncertainty.ts";
import type { Figure, Goal } from "./figures.ts";
import type { Mode, Scheme } from "./options.ts";
import type { Sample } from "./samples.ts";
import { quantile } from "./statistics.ts";

export interface Round {
  readonly samples: readonly Sample[];
  /** Calls without a result. */
  readonly missing: number;
}

/** One round of blackbox_exporter: what it reports beyond what the target took, in milliseconds. */
export type Probed = readonly number[];

export interface Setting {
  readonly name: string;
  readonly mode: Mode;
  readonly scheme: Scheme;
  readonly delay: number;
  readonly handshake: number;
  /** What a call costs on an idle machine, in milliseconds. */
  readonly floor: number;
}

export function accuracyFigures(
  setting: Setting,
  rounds: readonly Round[],
  probed: readonly Probed[] | undefined,
): Figure[] {
  const { name, mode, scheme, delay, handshake, floor } = setting;
  const shaking = handshake > 0 ? `, handshake ${handshake} ms` : "";
  const label = `${mode}, ${scheme}, ${delay} ms${shaking}, ${name}:`;
  const goals = goalsOf(setting);
  const each = (value: (round: Round) => number): number[] => rounds.map(value);
  const excess = (share: number, goal: Goal | undefined): Figure => ({
    what: `${label} reported − true p${share * 100}`,
    unit: "ms",
    rounds: each(({ samples }) =>
      quantile(
        samples.map((sample) => sample.excess),
        share,
      ),
    ),
    ...(probed && {
      beside: { what: "blackbox", rounds: probed.map((round) => quantile(round, share)) },
    }),
    ...(goal && { goal }),
  });
  const lateness = (what: string, share: number, goal?: Goal): Figure => ({
    what: `  lateness ${what}`,
    unit: "ms",
    rounds: each(({ samples }) =>
      quantile(
        samples.map((sample) => sample.lateness),
        share,
      ),
    ),
    ...(goal && { goal }),
  });
  return [
    excess(0.5, goals.p50),
    excess(0.99, goals.p99),
    lateness("p50", 0.5),
    lateness("p99", 0.99, goals.lateP99),
    lateness("max", 1, goals.lateMax),
    {
      what: "  started early",
      unit: "%",
      rounds: each(({ samples }) => percent(samples, ({ lateness }) => lateness < 0)),
      goal: { atMost: 0 },
    },
    {
      what: "  without a result",
      unit: "calls",
      rounds: each(({ missing }) => missing),
      goal: { atMost: 0 },
    },
    ...uncertaintyFigures(rounds, floor),
  ];
}

/** Empty if the program states no uncertainty. */
function uncertaintyFigures(rounds: readonly Round[], floor: number): Figure[] {
  const stated = rounds.map(({ samples }) =>
    samples.flatMap(({ excess, total, uncertainty }) =>
      uncertainty === undefined ? [] : [{ excess, total, uncertainty }],
    ),
  );
  if (stated.some((round) => round.length === 0)) return [];
  const uncertainty = (share: number): Figure => ({
    what: `  uncertainty p${share * 100}`,
    unit: "ms",
    rounds: stated.map((round) =>
      quantile(
        round.map((sample) => sample.uncertainty),
        share,
      ),
    ),
  });
  return [
    uncertainty(0.5),
    uncertainty(0.99),
    {
      what: "  too uncertain to judge",
      unit: "%",
      rounds: stated.map((round) => percent(round, isUncertain)),
    },
    {
      what: `  reported − true ≤ uncertainty + ${floor.toFixed(2)} ms, what a bare socket takes`,
      unit: "%",
      rounds: stated.map((round) =>
        percent(round, (sample) => sample.excess <= sample.uncertainty + floor),
      ),
    },
  ];
}

const percent = <T>(values: readonly T[], fits: (value: T) => boolean): number =>
  (100 * values.filter(fits).length) / values.length;

interface Goals {
  readonly p50?: Goal;
  readonly p99?: Goal;
  readonly lateP99?: Goal;
  readonly lateMax?: Goal;
}

/** Over HTTPS a call includes a handshake, so blackbox_exporter's figure is the yardstick there. */
function goalsOf({ name, mode, scheme, delay }: Setting): Goals {
  const lateP99 = { atMost: 1100 };
  const lateMax = { atMost: 5000 };
  const atOnce = name.endsWith("at once");
  const late = atOnce ? { lateMax } : { lateP99 };
  if (scheme === "https") return late;
  if (delay === 50) return { p50: { atMost: 1.5 }, p99: { atMost: 8 }, ...late };
  if (name === "1000 at once") return { p50: { atMost: 2 }, p99: { atMost: 15 }, ...late };
  const beside = { ratioAtMost: 1.5 };
  if (name === "100 a second")
    return { p50: { atMost: 1.5, ...beside }, p99: { atMost: 8, ...beside }, ...late };
  if (name === "500 a second" && mode === "split")
    return { p50: { atMost: 1.5 }, p99: { atMost: 15 }, ...late };
  return late;
}
