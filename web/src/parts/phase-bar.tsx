// Phases as one short bar on a scale that the caller gives, with their numbers as its text.
import type { Phase } from "../../../src/model/timing.ts";
import "../styles/phases.css";
import "../styles/waterfall.css";
import { formatMs } from "../number.ts";
import { PHASE_NAMES, PHASE_ORDER } from "./phases.ts";

export type PhaseTimes = Readonly<Record<Phase, number | null>>;

export const sumOfPhases = (phases: PhaseTimes): number =>
  PHASE_ORDER.reduce((sum, phase) => sum + (phases[phase] ?? 0), 0);

/** `end` is the end of the scale, in milliseconds. */
export function PhaseBar({ phases, end }: { readonly phases: PhaseTimes; readonly end: number }) {
  const reached = PHASE_ORDER.filter((phase) => phases[phase] !== null);
  const said = reached.map((phase) => `${PHASE_NAMES[phase].name} ${formatMs(phases[phase])}`);
  return (
    <span class="phase-bar" role="img" aria-label={said.join(", ")} title={said.join("\n")}>
      {reached.map((phase) => (
        <span
          key={phase}
          class={`phase ${phase}`}
          style={{ width: `${(100 * (phases[phase] ?? 0)) / end}%` }}
        />
      ))}
    </span>
  );
}

export const PhaseLegend = () => (
  <ul class="legend phase-legend">
    {PHASE_ORDER.map((phase) => (
      <li key={phase} title={PHASE_NAMES[phase].meaning}>
        <span class={`swatch phase ${phase}`} aria-hidden="true" />
        {PHASE_NAMES[phase].name}
      </li>
    ))}
  </ul>
);
