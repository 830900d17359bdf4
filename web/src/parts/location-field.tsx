// A choice of one location.
import { useLacks, useLocationsRead } from "../locations.tsx";
import { SelectField } from "./field.tsx";
import type { FieldProps } from "./field.tsx";
import { NoAgent } from "./no-agent.tsx";

interface LocationFieldProps extends Omit<FieldProps, "label" | "hint"> {
  readonly label?: string;
  readonly value: string;
  /** Whether to say where no agent accepts runs. */
  readonly isToRun?: boolean;
  /** Whether "default location" is a choice. */
  readonly hasDefault?: boolean;
  /** Whether the current location is the only choice: options of hundreds of fields are many. */
  readonly isFixed?: boolean;
  readonly onChange: (id: string) => void;
}

export function LocationField({
  label = "Location",
  value,
  isToRun = false,
  hasDefault = true,
  isFixed = false,
  fault,
  onChange,
  ...field
}: LocationFieldProps) {
  const lackAt = useLacks();
  const { places, error } = useLocationsRead();
  return (
    <SelectField
      {...field}
      label={label}
      fault={fault ?? error?.message}
      hint={
        isToRun && <NoAgent at={value}>runs wait, and are MISSED if none is ready in time.</NoAgent>
      }
      value={value}
      choices={places
        .filter(({ id }) => (hasDefault || id !== "") && (!isFixed || id === value))
        .map(({ id, name }) => ({
          value: id,
          name: isToRun && lackAt(id) ? `${name} – no agent` : name,
        }))}
      onChange={onChange}
    />
  );
}
