// The deployments of a call or a workflow: where, how often, when next; to add, change and delete.
import { overviewKey } from "../../call-overview.ts";
import { useState } from "preact/hooks";
import { formatAgo } from "../../clock.ts";
import { nextRunOf, useDeployments } from "../../deployments.ts";
import type { Deployment } from "../../deployments.ts";
import { inWords } from "../../frequency.ts";
import { nameOfLocation, useLocations } from "../../locations.tsx";
import { useNow } from "../../now.ts";
import { invalidate } from "../../queries.ts";
import type { Target } from "../../runs.ts";
import { has, isMine } from "../../session.ts";
import { DeleteButton } from "../delete-button.tsx";
import { DeployChange } from "./deploy-change.tsx";
import { DeployDialog } from "./deploy-dialog.tsx";
import { NoAgentMark } from "../no-agent.tsx";
import { Fault, Loading } from "../notice.tsx";
import { Time } from "../time.tsx";

const SECOND_MS = 1000;

interface DeploymentsProps extends Target {
  /** False: the target is someone else's, whose deployments are not listed. */
  readonly isOwn?: boolean;
  /** False: the signed-in user may not deploy it. */
  readonly isRunnable?: boolean;
  /** Whether its results are generated. */
  readonly isSimulated?: boolean;
}

/** A card with the deployments of the target; only those who may write can change them. */
export function Deployments({
  isOwn = true,
  isRunnable = true,
  isSimulated = false,
  ...target
}: DeploymentsProps) {
  const { data, error, refetch } = useDeployments(target);
  const [edited, setEdited] = useState<Deployment | "new">();
  const mayWrite = has("EDITOR");
  const mayDeploy = mayWrite && isRunnable;
  return (
    <section class="card" aria-labelledby="deployments">
      <header>
        <h2 id="deployments">Deployments</h2>
        {mayDeploy && (
          <button class="button" type="button" onClick={() => setEdited("new")}>
            Deploy
          </button>
        )}
      </header>
      <Fault error={error} retry={refetch} />
      {!data && !error && <Loading what="deployments" />}
      {data?.results.length === 0 && (
        <p class="muted">
          {isSimulated
            ? 'It has no schedule: its results were generated, even those that say "Started by: Schedule".'
            : isOwn
              ? "Not scheduled yet."
              : "You have not scheduled it. Its owner's deployments are not shown."}
          {mayDeploy &&
            !isSimulated &&
            " Deploy it to run it regularly, from one or more locations."}
        </p>
      )}
      {data && data.results.length > 0 && (
        <DeploymentTable
          target={target}
          deployments={data.results}
          onEdit={mayWrite ? setEdited : undefined}
        />
      )}
      {edited === "new" && <DeployDialog target={target} onClose={() => setEdited(undefined)} />}
      {edited && edited !== "new" && (
        <DeployChange target={target} deployment={edited} onClose={() => setEdited(undefined)} />
      )}
    </section>
  );
}

interface DeploymentTableProps {
  readonly target: Target;
  readonly deployments: readonly Deployment[];
  readonly onEdit: ((deployment: Deployment) => void) | undefined;
}

function DeploymentTable({ target, deployments, onEdit }: DeploymentTableProps) {
  const isShared = deployments.some(({ meta }) => !isMine(meta));
  return (
    <div class="scroll-x">
      <table class="middle blocks">
        <thead>
          <tr>
            <th scope="col">Location</th>
            <th scope="col">Runs</th>
            <th scope="col" class="number">
              Delay
            </th>
            {target.kind === "workflow" && (
              <th scope="col" class="number">
                Between calls
              </th>
            )}
            <th scope="col">Next run</th>
            {isShared && <th scope="col">Owner</th>}
            {onEdit && (
              <th scope="col">
                <span class="visually-hidden">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {deployments.map((one) => (
            <DeploymentRow
              key={one.id}
              target={target}
              deployment={one}
              isShared={isShared}
              onEdit={onEdit}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface DeploymentRowProps extends Pick<DeploymentTableProps, "target" | "onEdit"> {
  readonly deployment: Deployment;
  /** Whether to show the owner. */
  readonly isShared: boolean;
}

function DeploymentRow({ target, deployment: one, isShared, onEdit }: DeploymentRowProps) {
  const { location_id, frequency, run_delay, between_calls_delay } = one.deployment;
  const places = useLocations();
  return (
    <tr>
      <th scope="row">
        <span class="row">
          {nameOfLocation(places, location_id)}
          <NoAgentMark at={location_id} />
        </span>
      </th>
      <td>{inWords(frequency)}</td>
      <td class="number" data-label="Delay">
        {run_delay} s
      </td>
      {target.kind === "workflow" && (
        <td class="number" data-label="Between calls">
          {between_calls_delay} s
        </td>
      )}
      <td class="whole" data-label="Next run">
        <NextRun of={one} />
      </td>
      {isShared && <td data-label="Owner">{one.meta.owner}</td>}
      {onEdit && (
        <td class="whole">
          <Actions target={target} deployment={one} onEdit={onEdit} />
        </td>
      )}
    </tr>
  );
}

/** The only part of a row that changes every second. */
function NextRun({ of }: { readonly of: Deployment }) {
  const time = useNow(SECOND_MS);
  const at = nextRunOf(of, time);
  return (
    <>
      <Time at={new Date(at).toISOString()} /> <span class="muted">({formatAgo(at, time)})</span>
    </>
  );
}

interface ActionsProps {
  readonly target: Target;
  readonly deployment: Deployment;
  readonly onEdit: (deployment: Deployment) => void;
}

/** The target's owner may delete other people's deployments of it. */
function Actions({ target, deployment, onEdit }: ActionsProps) {
  const place = nameOfLocation(useLocations(), deployment.deployment.location_id);
  const often = inWords(deployment.deployment.frequency);
  const what = `the deployment of ${target.name} at ${place}, ${often}`;
  return (
    <div class="row keep end">
      {isMine(deployment.meta) && (
        <button class="button" type="button" onClick={() => onEdit(deployment)}>
          Edit<span class="visually-hidden"> {what}</span>
        </button>
      )}
      <DeleteButton
        what={what}
        path={`deployments/${deployment.id}/`}
        consequence="A run due within 15 seconds is still made. Recorded results stay."
        onDeleted={() => invalidate(["deployments"], overviewKey(target.id))}
      />
    </div>
  );
}
