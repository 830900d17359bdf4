// Makes deployments, one for each chosen location, or changes one.
import { useState } from "preact/hooks";
import { send } from "../api.ts";
import type { Deployment } from "../deployments.ts";
import { useSending } from "../form.ts";
import { idOfDefault, nameOfLocation, useLocations } from "../locations.tsx";
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

/** Opens as soon as the locations are known. */
export const DeployDialog = (props: DeployDialogProps) =>
  useLocations().length > 0 ? <DeployForm {...props} /> : null;

function DeployForm({ target, deployment, onClose }: DeployDialogProps) {
  const places = useLocations();
  const [draft, setDraft] = useState(() => draftOf(deployment?.deployment, idOfDefault(places)));
  const change = (part: Partial<DeploymentDraft>): void => setDraft({ ...draft, ...part });
  // Each location that is done is not done again.
  const save = async (run_delay: string): Promise<void> => {
    for (const [at, location_id] of draft.locations.entries()) {
      await saveOne(deployment, bodyOf({ ...draft, run_delay }, target, location_id));
      change({ locations: draft.locations.slice(at + 1) });
      await invalidate(["deployments"]);
    }
    const names = draft.locations.map((id) => nameOfLocation(places, id)).join(", ");
    announce(deployment ? "Saved" : `Deployed at ${names}`);
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

/** What is wrong with these is shown at their fields. */
const SHOWN = ["frequency", "run_delay", "between_calls_delay"];

const draftOf = (
  deployment: Deployment["deployment"] | undefined,
  defaultLocation: string,
): DeploymentDraft => ({
  locations: [deployment?.location_id ?? defaultLocation],
  frequency: String(deployment?.frequency ?? 5),
  run_delay: deployment && String(deployment.run_delay),
  between_calls_delay: String(deployment?.between_calls_delay ?? 0),
});

/** What is no number goes as it is: the interface says what is wrong with it. */
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
