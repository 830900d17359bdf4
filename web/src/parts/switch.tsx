// A choice between a few options, side by side.
import { useId } from "preact/hooks";
import "../styles/switch.css";
import type { Choice } from "./field.tsx";

interface SwitchProps<T extends string> {
  /** What is chosen; read out before the choices. */
  readonly label: string;
  readonly value: T;
  readonly choices: readonly Choice<T>[];
  readonly onChange: (value: T) => void;
}

export function Switch<T extends string>({ label, value, choices, onChange }: SwitchProps<T>) {
  const id = useId();
  return (
    <fieldset class="switch">
      <legend class="visually-hidden">{label}</legend>
      {choices.map((choice) => (
        <label key={choice.value}>
          <input
            class="visually-hidden"
            type="radio"
            name={id}
            value={choice.value}
            checked={choice.value === value}
            onChange={() => onChange(choice.value)}
          />
          <span>{choice.name}</span>
        </label>
      ))}
    </fieldset>
  );
}
