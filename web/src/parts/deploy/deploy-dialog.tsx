// Creates deployments, one per chosen location.
import { overviewKey } from "../../call-overview.ts";
import { useRef, useState } from "preact/hooks";
import { send } from "../../api.ts";
import { useDeployments } from "../../deployments.ts";
import type { Deployment } from "../../deployments.ts";
import { useSending } from "../../form.ts";
import { leaving } from "../../history-guard.ts";
import { nameOfLocation, useLacks, useLocations, useLocationsRead } from "../../locations.tsx";
import { idOfDefault, listed } from "../../places.ts";
import type { Place } from "../../places.ts";
import { useShown } from "../../shown.ts";
import { invalidate } from "../../queries.ts";
import type { Target } from "../../runs.ts";
import { announce } from "../../announcement.tsx";
import { bodyOf, newDraft, SHOWN } from "./deploy-draft.ts";
import type { DeploymentDraft } from "./deploy-draft.ts";
import { DeployFields, useDelay } from "./deploy-fields.tsx";
import { Dialog, DialogButtons, FaultDialog, LoadingDialog } from "../dialog.tsx";
import { LeaveGuard } from "../leave-guard.tsx";
import { Fault } from "../notice.tsx";

interface DeployDialogProps {
  readonly target: Target;
  readonly onClose: () => void;
}

/** Shows the form once the locations and the target's deployments are known. */
export function DeployDialog(props: DeployDialogProps) {
  const { places, error: unread, refetch } = useLocationsRead();
  const { data, error } = useDeployments(props.target);
  const title = titleOf(props.target);
  const isKnown = useRef(false); // from then on, the form stays, whatever is read again
  isKnown.current ||= places.length > 0 && (data !== undefined || error !== null);
  if (unread)
    return <FaultDialog title={title} error={unread} retry={refetch} onClose={props.onClose} />;
  return isKnown.current ? (
    <DeployForm {...props} deployments={data?.results ?? []} />
  ) : (
    <LoadingDialog title={title} what="the deployments" onClose={props.onClose} />
  );
}

const titleOf = ({ name }: Target): string => `Deploy ${name}`;

/** `at` is the first of the locations without a deployment. */
function givenUpText(places: readonly Place[], locations: readonly string[], at: number): string {
  const [made, left] = [locations.slice(0, at), locations.slice(at)].map((ids) =>
    listed(ids.map((id) => nameOfLocation(places, id))),
  );
  return made ? `Deployed at ${made}, but not at ${left}` : `Not deployed at ${left}`;
}

interface DeployFormProps extends DeployDialogProps {
  readonly deployments: readonly Deployment[];
}

function DeployForm({ target, deployments, onClose }: DeployFormProps) {
  const isShown = useShown();
  const places = useLocations();
  const lackAt = useLacks();
  const [first] = useState(() => newDraft(deployments, idOfDefault(places)));
  const [draft, setDraft] = useState(first);
  const change = (part: Partial<DeploymentDraft>): void => setDraft((now) => ({ ...now, ...part }));
  // A retry skips the locations that are done, and sends the same delay whatever is proposed then.
  const save = async (run_delay: string): Promise<void> => {
    change({ run_delay });
    const namesOf = (ids: readonly string[]): string =>
      listed(ids.map((id) => nameOfLocation(places, id)));
    for (const [at, location_id] of draft.locations.entries()) {
      if (!isShown()) return announce(givenUpText(places, draft.locations, at));
      const body = bodyOf({ ...draft, run_delay }, target, location_id);
      await send("POST", "deployments/", { body }).catch((cause: unknown) => {
        if (!isShown()) announce(givenUpText(places, draft.locations, at));
        throw cause;
      });
      change({ locations: draft.locations.slice(at + 1) });
      await invalidate(["deployments"], overviewKey(target.id));
    }
    const lacking = draft.locations.filter(lackAt);
    announce(
      `Deployed at ${namesOf(draft.locations)}${
        lacking.length > 0 ? `. No agent accepts runs at ${namesOf(lacking)}` : ""
      }`,
    );
    if (isShown()) onClose();
  };
  const delay = useDelay(draft);
  const sending = useSending(() => save(delay.run_delay), {
    body: bodyOf({ ...draft, run_delay: delay.run_delay }, target, undefined),
  });
  const isChanged = draft !== first;
  const close = (): void => (isChanged ? leaving(onClose) : onClose());
  return (
    <Dialog title={titleOf(target)} onClose={close}>
      <form class="stack" onSubmit={sending.submit}>
        <LeaveGuard isChanged={isChanged} />
        <DeployFields
          kind={target.kind}
          isNew
          deployments={deployments}
          draft={draft}
          delay={delay}
          faultAt={(name) => sending.faultAt(`deployment.${name}`)}
          onChange={change}
        />
        <Fault error={sending.faultBeside(...SHOWN)} />
        <DialogButtons
          verb="Deploy"
          isBusy={sending.isBusy || draft.locations.length === 0}
          onCancel={close}
        />
      </form>
    </Dialog>
  );
}
