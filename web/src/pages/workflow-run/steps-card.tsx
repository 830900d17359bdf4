// The calls of a run as a waterfall.
import { useState } from "preact/hooks";
import { CheckField } from "../../parts/field.tsx";
import { Waterfall } from "../../parts/waterfall.tsx";
import { rowsOfSteps } from "../../parts/outcome-rows.ts";
import { formatMs } from "../../number.ts";
import type { CallNames } from "../../call-names.ts";
import type { WorkflowOutcome } from "../../runs.ts";
import { stepsOf, totalPause } from "../../steps.ts";
import type { Step } from "../../steps.ts";

interface StepsCardProps {
  readonly run: WorkflowOutcome;
  readonly calls: CallNames;
}

/** Pauses that take more than this share of the run leave little room for its calls. */
const LARGE = 0.5;

export function StepsCard({ run: { counts, results }, calls }: StepsCardProps) {
  const whole = stepsOf(results, true);
  const pause = totalPause(whole);
  const [isShort, setShort] = useState(() => pause > LARGE * lengthOf(whole));
  const steps = isShort ? stepsOf(results, false) : whole;
  const hidden = counts.calls - results.length;
  return (
    <section class="card" aria-labelledby="steps">
      <header>
        <h2 id="steps">Calls</h2>
        {pause > 0 && (
          <CheckField
            label={`Hide the pauses (${formatMs(pause)} in total)`}
            value={isShort}
            onChange={setShort}
          />
        )}
      </header>
      {counts.calls === 0 ? (
        <p class="muted">No call was made.</p>
      ) : (
        <Waterfall title="Calls of the run" rows={rowsOfSteps(steps, calls, hidden === 0)} />
      )}
      {hidden > 0 && (
        <p class="muted">
          {hidden === 1 ? "One call is" : `${hidden} calls are`} not shown: the results are not
          shared with you, or are no longer kept.
        </p>
      )}
    </section>
  );
}

function lengthOf(steps: readonly Step[]): number {
  const last = steps.findLast(({ offsetMs }) => offsetMs !== null);
  return last ? (last.offsetMs ?? 0) + (last.result.timing.total ?? 0) : 0;
}
