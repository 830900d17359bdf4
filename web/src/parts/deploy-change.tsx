// Changes a deployment, in a dialog.
import { overviewKey } from "../call-overview.ts";
import type { Versioned } from "../api.ts";
import type { Deployment } from "../deployments.ts";
import { useEditing } from "../editing.ts";
import { nameOfLocation, useLacks, useLocations } from "../locations.tsx";
import { invalidate, useVersioned } from "../queries.ts";
import type { Target } from "../runs.ts";
import { announce } from "./announcement.tsx";
import { ConflictDialog } from "./conflict-dialog.tsx";
import { bodyOf, draftOf, SHOWN } from "./deploy-draft.ts";
import type { DeploymentDraft } from "./deploy-draft.ts";
import { DeployFields, useDelay } from "./deploy-fields.tsx";
import { Dialog, DialogButtons } from "./dialog.tsx";
import { Fault, Loading } from "./notice.tsx";

interface DeployChangeProps {
  readonly target: Target;
  readonly deployment: Deployment;
  readonly onClose: () => void;
}

/** Reads the deployment again, with its version: the list may be older. */
export function DeployChange({ target, deployment: { id }, onClose }: DeployChangeProps) {
  const { data, error, refetch } = useVersioned<Deployment>(
    ["deployments", "stored", id],
    `deployments/${id}/`,
  );
  return (
    <Dialog title={`Change the deployment of ${target.name}`} onClose={onClose}>
      <Fault error={error} retry={refetch} />
      {!data && !error && <Loading what="the deployment" />}
      {data && <ChangeForm target={target} stored={data} onClose={onClose} />}
    </Dialog>
  );
}

interface ChangeFormProps extends Pick<DeployChangeProps, "target" | "onClose"> {
  readonly stored: Versioned<Deployment>;
}

function ChangeForm({ target, stored, onClose }: ChangeFormProps) {
  const places = useLocations();
  const lackAt = useLacks();
  const changed = () => invalidate(["deployments"], overviewKey(target.id));
  const { draft, change, sending, conflict } = useEditing<Deployment, DeploymentDraft>({
    path: "deployments/",
    stored,
    draftOf: (deployment = stored.object) => draftOf(deployment),
    bodyOf: (of) => bodyOf(of, target, of.locations[0]),
    onSaved: ({ object: { deployment } }) => {
      const at = deployment.location_id;
      announce(
        lackAt(at) ? `Saved. No agent accepts runs at ${nameOfLocation(places, at)}` : "Saved",
      );
      onClose();
      return changed();
    },
    onReloaded: changed,
  });
  const delay = useDelay(draft, stored.object);
  return (
    <form class="stack" onSubmit={sending.submit}>
      <DeployFields
        kind={target.kind}
        isNew={false}
        deployments={[]}
        draft={draft}
        delay={delay}
        faultAt={(name) => sending.faultAt(`deployment.${name}`)}
        onChange={change}
      />
      <Fault error={sending.faultBeside(...SHOWN)} />
      <DialogButtons verb="Save" isBusy={sending.isBusy} onCancel={onClose} />
      <ConflictDialog what="deployment" conflict={conflict} />
    </form>
  );
}
