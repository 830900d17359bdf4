// The fields of a deployment: where, how often, how long after the trigger; and when it runs next.
import { useState } from "preact/hooks";
import { proposalAt, runsOfSaved, useOwnDeployments } from "../../deployments.ts";
import type { Deployment } from "../../deployments.ts";
import { MAX_DELAY_SECONDS } from "../../../../src/model/slots.ts";
import type { Proposal } from "../../../../src/model/spread.ts";
import { delayInWords, FREQUENCY_CHOICES } from "../../frequency.ts";
import { now } from "../../now.ts";
import type { TargetKind } from "../../runs.ts";
import type { DeploymentDraft } from "./deploy-draft.ts";
import { DeployLocations } from "./deploy-locations.tsx";
import { SelectField, TextField } from "../field.tsx";
import { Time } from "../time.tsx";
import "../../styles/deploy.css";

const SHOWN_RUNS = 5;

/** The delay of a draft, and the proposed one. */
export interface Delay {
  readonly run_delay: string;
  /** Undefined: the other deployments are not known. */
  readonly proposal: Proposal | undefined;
  /** Until it is released, no proposal replaces what the field shows: someone may be typing. */
  readonly hold: () => void;
  readonly release: () => void;
}

/** Returns the delay of the draft; until one is given, the proposed one. */
export function useDelay(draft: DeploymentDraft, edited?: Deployment): Delay {
  const [held, setHeld] = useState<string>();
  const others = useOwnDeployments()?.filter(({ id }) => id !== edited?.id);
  const proposal = others && proposalAt(draft.locations, Number(draft.frequency), others);
  const run_delay = draft.run_delay ?? held ?? String(proposal?.run_delay ?? 0);
  return {
    run_delay,
    proposal,
    hold: () => setHeld(run_delay),
    release: () => setHeld(undefined),
  };
}

interface DeployFieldsProps {
  readonly kind: TargetKind;
  /** New ones may be at several locations. */
  readonly isNew: boolean;
  /** The existing deployments of the target. */
  readonly deployments: readonly Deployment[];
  readonly draft: DeploymentDraft;
  readonly delay: Delay;
  readonly faultAt: (name: string) => string | undefined;
  readonly onChange: (part: Partial<DeploymentDraft>) => void;
}

export function DeployFields(props: DeployFieldsProps) {
  const { isNew, deployments, draft, delay, faultAt, onChange } = props;
  const { run_delay, proposal, hold, release } = delay;
  const take = (proposed: number): void => {
    release();
    onChange({ run_delay: isNew ? undefined : String(proposed) });
  };
  const leave = ({ currentTarget, relatedTarget }: FocusEvent): void => {
    const field = (currentTarget as Element).closest(".field");
    if (!field?.contains(relatedTarget as Node | null)) release(); // not for the button beside it
  };
  return (
    <>
      <DeployLocations
        isNew={isNew}
        deployments={deployments}
        chosen={draft.locations}
        fault={faultAt("location_id")}
        onChange={(locations) => onChange({ locations })}
      />
      <div class="fields">
        <SelectField
          label="Runs"
          value={draft.frequency}
          choices={FREQUENCY_CHOICES}
          fault={faultAt("frequency")}
          hint="Runs at multiples of this interval, counted from midnight UTC."
          onChange={(value) => onChange({ frequency: value })}
        />
        <TextField
          label="Delay, in seconds"
          value={run_delay}
          fault={faultAt("run_delay")}
          hint={
            <>
              {delayInWords(Number(run_delay))}{" "}
              {proposal && draft.locations.length > 0 && (
                <Proposed {...proposal} given={run_delay} onTake={() => take(proposal.run_delay)} />
              )}
            </>
          }
          input={{ inputMode: "numeric", onFocus: hold, onBlur: leave }}
          onInput={(value) => onChange({ run_delay: value })}
        />
        <BetweenCalls {...props} />
      </div>
      <NextRuns
        frequency={Number(draft.frequency)}
        run_delay={run_delay === "" ? NaN : Number(run_delay)}
        isNew={isNew}
      />
    </>
  );
}

const BetweenCalls = ({ kind, draft, faultAt, onChange }: DeployFieldsProps) =>
  kind === "workflow" && (
    <TextField
      label="Between calls, in seconds"
      value={draft.between_calls_delay}
      fault={faultAt("between_calls_delay")}
      hint="From the end of one call to the start of the next."
      input={{ inputMode: "numeric" }}
      onInput={(value) => onChange({ between_calls_delay: value })}
    />
  );

interface ProposedProps extends Proposal {
  /** The delay as the field has it. */
  readonly given: string;
  readonly onTake: () => void;
}

/** Without a location, the proposal means nothing. */
const Proposed = ({ run_delay, sharing, given, onTake }: ProposedProps) => (
  <>
    {sharing === 0
      ? `None of your deployments there is due at second ${run_delay}.`
      : `Second ${run_delay} has the fewest of your deployments there (${sharing}).`}{" "}
    {given !== String(run_delay) && (
      <button
        class="link"
        type="button"
        onClick={({ currentTarget }) => {
          // The button goes, and the focus would with it.
          currentTarget.closest(".field")?.querySelector("input")?.focus();
          onTake();
        }}
      >
        Use {run_delay} s
      </button>
    )}
  </>
);

interface NextRunsProps {
  readonly frequency: number;
  readonly run_delay: number;
  readonly isNew: boolean;
}

const NextRuns = ({ frequency, run_delay, isNew }: NextRunsProps) =>
  Number.isInteger(run_delay) && run_delay >= 0 && run_delay <= MAX_DELAY_SECONDS ? (
    <div>
      <h3>Next runs</h3>
      <ol class="next-runs">
        {runsOfSaved({ frequency, run_delay }, isNew, now(), SHOWN_RUNS).map((at) => (
          <li key={at}>
            <Time at={new Date(at).toISOString()} />
          </li>
        ))}
      </ol>
    </div>
  ) : null;
