// Changes a deployment, in a dialog.
import { overviewKey } from "../../call-overview.ts";
import type { Versioned } from "../../api.ts";
import type { Deployment } from "../../deployments.ts";
import { useEditing } from "../../editing.ts";
import { leaving } from "../../history-guard.ts";
import { nameOfLocation, useLacks, useLocations } from "../../locations.tsx";
import { invalidate, useVersioned } from "../../queries.ts";
import type { Target } from "../../runs.ts";
import { announce } from "../../announcement.tsx";
import { ConflictDialog } from "../conflict-dialog.tsx";
import { bodyOf, draftOf, SHOWN } from "./deploy-draft.ts";
import type { DeploymentDraft } from "./deploy-draft.ts";
import { DeployFields, useDelay } from "./deploy-fields.tsx";
import { Dialog, DialogButtons, FaultDialog, LoadingDialog } from "../dialog.tsx";
import { LeaveGuard } from "../leave-guard.tsx";
import { Fault } from "../notice.tsx";

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
  if (data) return <ChangeForm target={target} stored={data} onClose={onClose} />;
  return error ? (
    <FaultDialog title={titleOf(target)} error={error} retry={refetch} onClose={onClose} />
  ) : (
    <LoadingDialog title={titleOf(target)} what="the deployment" onClose={onClose} />
  );
}

const titleOf = ({ name }: Target): string => `Change the deployment of ${name}`;

interface ChangeFormProps extends Pick<DeployChangeProps, "target" | "onClose"> {
  readonly stored: Versioned<Deployment>;
}

function ChangeForm({ target, stored, onClose }: ChangeFormProps) {
  const places = useLocations();
  const lackAt = useLacks();
  const changed = () => invalidate(["deployments"], overviewKey(target.id));
  const { draft, change, isChanged, sending, conflict } = useEditing<Deployment, DeploymentDraft>({
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
  const close = (): void => (isChanged ? leaving(onClose) : onClose());
  return (
    <Dialog title={titleOf(target)} onClose={close}>
      <form class="stack" onSubmit={sending.submit}>
        <LeaveGuard isChanged={isChanged} />
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
        <DialogButtons verb="Save" isBusy={sending.isBusy} onCancel={close} />
        <ConflictDialog what="deployment" conflict={conflict} />
      </form>
    </Dialog>
  );
}
