// Where a deployment runs: one location, or several for new ones.
import { inWords } from "../frequency.ts";
import { useLocations } from "../locations.tsx";
import type { Place } from "../locations.tsx";
import type { Deployment } from "../deployments.ts";
import { LocationField } from "./location-field.tsx";
import { NoAgentMark } from "./no-agent.tsx";

interface DeployLocationsProps {
  /** New ones may be at several locations. */
  readonly isNew: boolean;
  /** The existing deployments of the target. */
  readonly deployments: readonly Deployment[];
  readonly chosen: readonly string[];
  readonly fault: string | undefined;
  readonly onChange: (ids: readonly string[]) => void;
}

export function DeployLocations({ isNew, chosen, fault, onChange, ...rest }: DeployLocationsProps) {
  const places = useLocations().filter(({ id }) => id !== "");
  if (isNew)
    return <LocationChoices {...rest} places={places} chosen={chosen} onChange={onChange} />;
  return (
    <LocationField
      value={chosen[0] ?? ""}
      isToRun
      hasDefault={false}
      fault={fault}
      onChange={(id) => onChange([id])}
    />
  );
}

interface LocationChoicesProps extends Pick<
  DeployLocationsProps,
  "deployments" | "chosen" | "onChange"
> {
  readonly places: readonly Place[];
}

const LocationChoices = ({ places, deployments, chosen, onChange }: LocationChoicesProps) => (
  <fieldset class="choices">
    <legend>Locations, with a deployment for each</legend>
    {places.map(({ id, name }) => (
      <label key={id} class="row keep">
        <input
          type="checkbox"
          checked={chosen.includes(id)}
          onChange={({ currentTarget }) =>
            onChange(
              places
                .map((place) => place.id)
                .filter((one) => (one === id ? currentTarget.checked : chosen.includes(one))),
            )
          }
        />
        <span class="row">
          {name}
          <NoAgentMark at={id} />
          <DeployedAlready deployments={deployments} at={id} />
        </span>
      </label>
    ))}
  </fieldset>
);

function DeployedAlready({
  deployments,
  at,
}: Pick<DeployLocationsProps, "deployments"> & { readonly at: string }) {
  const there = deployments.filter(({ deployment }) => deployment.location_id === at);
  if (there.length === 0) return null;
  const often = there.map(({ deployment }) => inWords(deployment.frequency)).join(", ");
  return <span class="muted small">already deployed: {often}</span>;
}
