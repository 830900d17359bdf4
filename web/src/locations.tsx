// The locations, with their names.
import { SelectField } from "./parts/field.tsx";
import type { FieldProps } from "./parts/field.tsx";
import { useRead } from "./queries.ts";

interface AgentsInfo {
  /** Label by id; the empty id is the default's. */
  readonly locations: Readonly<Record<string, string>>;
}

export interface Place {
  readonly id: string;
  readonly name: string;
}

/** Empty until they are known. The default location is the first. */
export function useLocations(): readonly Place[] {
  const { data } = useRead<AgentsInfo>(["agents", "info"], "agents/info");
  return Object.entries(data?.locations ?? {})
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([id, name]) => ({ id, name: id === "" ? `Default (${name})` : name || id }));
}

/** Of the places, that which the empty id stands for; empty until they are known. */
export const idOfDefault = (places: readonly Place[]): string =>
  places.find(({ id, name }) => id !== "" && places[0]?.name === `Default (${name})`)?.id ?? "";

export const nameOfLocation = (places: readonly Place[], id: string): string =>
  places.find((place) => place.id === id)?.name ?? id;

interface LocationFieldProps extends Omit<FieldProps, "label"> {
  readonly label?: string;
  readonly value: string;
  readonly onChange: (id: string) => void;
}

export const LocationField = ({
  label = "Location",
  value,
  onChange,
  ...field
}: LocationFieldProps) => (
  <SelectField
    {...field}
    label={label}
    value={value}
    choices={useLocations().map(({ id, name }) => ({ value: id, name }))}
    onChange={onChange}
  />
);
