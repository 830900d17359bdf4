// Where a deployment runs: one location, or several for new ones.
import { useState } from "preact/hooks";
import { inWords } from "../../frequency.ts";
import { useLacks, useLocations } from "../../locations.tsx";
import type { Place } from "../../places.ts";
import type { Deployment } from "../../deployments.ts";
import { announce } from "../../announcement.tsx";
import { Combobox } from "../combobox.tsx";
import { LocationField } from "../location-field.tsx";
import { NoAgentMark } from "../no-agent.tsx";

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

/** Of more locations than these, only those that the reader finds by a search are listed. */
const MOST_LISTED = 20;

function LocationChoices({ places, deployments, chosen, onChange }: LocationChoicesProps) {
  const lackAt = useLacks();
  // Only grows: a box that is cleared stays, and keeps the focus.
  const [found, setFound] = useState(chosen);
  const isSearched = places.length > MOST_LISTED;
  const listed = isSearched ? places.filter(({ id }) => found.includes(id)) : places;
  const choose = (id: string, isChosen: boolean): void =>
    onChange(
      places
        .map((place) => place.id)
        .filter((one) => (one === id ? isChosen : chosen.includes(one))),
    );
  return (
    <>
      <fieldset class="choices">
        <legend>Locations, with a deployment for each</legend>
        {listed.map(({ id, name }) => (
          <label key={id} class="row keep">
            <input
              type="checkbox"
              checked={chosen.includes(id)}
              onChange={({ currentTarget }) => choose(id, currentTarget.checked)}
            />
            <span class="row">
              {name}
              <NoAgentMark at={id} />
              <DeployedAlready deployments={deployments} at={id} />
            </span>
          </label>
        ))}
      </fieldset>
      {chosen.length === 0 && <span class="muted small">Choose at least one.</span>}
      {isSearched && (
        <Combobox
          label="Add a location"
          placeholder="Name or id"
          options={places
            .filter(({ id }) => !chosen.includes(id))
            .map(({ id, name }) => ({
              id,
              name,
              note: [name === id ? "" : id, lackAt(id) ? "no agent" : "", oftenAt(deployments, id)]
                .filter((part) => part !== "")
                .join(", "),
            }))}
          onChoose={({ id, name }) => {
            setFound([...found, id]);
            choose(id, true);
            announce(`Added ${name}`);
          }}
        />
      )}
    </>
  );
}

/** Says how often the target runs there already; empty if it does not. */
function oftenAt(deployments: readonly Deployment[], at: string): string {
  const there = deployments.filter(({ deployment }) => deployment.location_id === at);
  if (there.length === 0) return "";
  return `already deployed: ${there.map(({ deployment }) => inWords(deployment.frequency)).join(", ")}`;
}

function DeployedAlready({
  deployments,
  at,
}: Pick<DeployLocationsProps, "deployments"> & { readonly at: string }) {
  const often = oftenAt(deployments, at);
  return often === "" ? null : <span class="muted small">{often}</span>;
}
