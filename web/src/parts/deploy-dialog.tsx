// Makes deployments, one for each chosen location, or changes one.
import { overviewKey } from "../call-overview.ts";
import { useState } from "preact/hooks";
import { send } from "../api.ts";
import { useDeployments } from "../deployments.ts";
import type { Deployment } from "../deployments.ts";
import { useSending } from "../form.ts";
import { idOfDefault, nameOfLocation, useLacks, useLocations } from "../locations.tsx";
import { invalidate } from "../queries.ts";
import type { Target } from "../runs.ts";
import { announce } from "./announcement.tsx";
import { DeployFields, useDelay } from "./deploy-fields.tsx";
import type { DeploymentDraft } from "./deploy-fields.tsx";
import { Dialog, DialogButtons } from "./dialog.tsx";
import { Fault } from "./notice.tsx";

interface DeployDialogProps {
  readonly target: Target;
  /** Undefined: new ones. */
  readonly deployment: Deployment | undefined;
  readonly onClose: () => void;
}

/** Opens once the locations and the target's deployments are known. */
export function DeployDialog(props: DeployDialogProps) {
  const places = useLocations();
  const { data, error } = useDeployments(props.target);
  return places.length > 0 && (data || error) ? (
    <DeployForm {...props} deployments={data?.results ?? []} />
  ) : null;
}

interface DeployFormProps extends DeployDialogProps {
  readonly deployments: readonly Deployment[];
}

function DeployForm({ target, deployment, deployments, onClose }: DeployFormProps) {
  const places = useLocations();
  const lackAt = useLacks();
  const [draft, setDraft] = useState(() => draftOf(deployment, deployments, idOfDefault(places)));
  const change = (part: Partial<DeploymentDraft>): void => setDraft({ ...draft, ...part });
  // A retry skips the locations that are done.
  const save = async (run_delay: string): Promise<void> => {
    for (const [at, location_id] of draft.locations.entries()) {
      await saveOne(deployment, bodyOf({ ...draft, run_delay }, target, location_id));
      change({ locations: draft.locations.slice(at + 1) });
      await invalidate(["deployments"], overviewKey(target.id));
    }
    const namesOf = (ids: readonly string[]): string =>
      ids.map((id) => nameOfLocation(places, id)).join(", ");
    const lacking = draft.locations.filter(lackAt);
    announce(
      `${deployment ? "Saved" : `Deployed at ${namesOf(draft.locations)}`}${
        lacking.length > 0 ? `. No agent accepts runs at ${namesOf(lacking)}` : ""
      }`,
    );
    onClose();
  };
  const delay = useDelay(draft, deployment);
  const sending = useSending(() => save(delay.run_delay));
  return (
    <Dialog
      title={deployment ? `Change the deployment of ${target.name}` : `Deploy ${target.name}`}
      onClose={onClose}
    >
      <form class="stack" onSubmit={sending.submit}>
        <DeployFields
          kind={target.kind}
          isNew={!deployment}
          deployments={deployments}
          draft={draft}
          delay={delay}
          faultAt={(name) => sending.faultAt(`deployment.${name}`)}
          onChange={change}
        />
        <Fault error={sending.faultBeside(...SHOWN.map((name) => `deployment.${name}`))} />
        <DialogButtons
          verb={deployment ? "Save" : "Deploy"}
          isBusy={sending.isBusy || draft.locations.length === 0}
          onCancel={onClose}
        />
      </form>
    </Dialog>
  );
}

/** Fields that show their own faults. */
const SHOWN = ["frequency", "run_delay", "between_calls_delay"];

/** Proposes the default location for a new deployment, unless one is there already. */
function draftOf(
  edited: Deployment | undefined,
  deployments: readonly Deployment[],
  defaultLocation: string,
): DeploymentDraft {
  const {
    location_id,
    frequency = 5,
    run_delay,
    between_calls_delay = 0,
  } = edited?.deployment ?? {};
  const isTaken = deployments.some(({ deployment }) => deployment.location_id === defaultLocation);
  const proposed = isTaken ? [] : [defaultLocation];
  return {
    locations: location_id === undefined ? proposed : [location_id],
    frequency: String(frequency),
    run_delay: run_delay === undefined ? undefined : String(run_delay),
    between_calls_delay: String(between_calls_delay),
  };
}

/** Passes on anything but a number as it is: the API says what is wrong with it. */
const toNumber = (text: string): number | string =>
  /^-?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text;

const bodyOf = (
  { frequency, run_delay = "0", between_calls_delay }: DeploymentDraft,
  { kind, id }: Target,
  location_id: string,
): object => ({
  deployment: {
    target_id: id,
    location_id,
    frequency: Number(frequency),
    run_delay: toNumber(run_delay),
    ...(kind === "workflow" && { between_calls_delay: toNumber(between_calls_delay) }),
  },
});

const saveOne = (deployment: Deployment | undefined, body: object): Promise<Deployment> =>
  deployment
    ? send<Deployment>("PUT", `deployments/${deployment.id}/`, { body })
    : send<Deployment>("POST", "deployments/", { body });
