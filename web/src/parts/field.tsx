// Form fields: a label, a control, a hint, and the value's fault.
import type { ComponentChildren, InputHTMLAttributes } from "preact";
import { useId } from "preact/hooks";
import { instantOf, instantText, zoneName } from "./time.tsx";

export interface FieldProps {
  readonly label: string;
  /** What it belongs to, for screen readers, where several have the same label: `header 2`. */
  readonly of?: string | undefined;
  readonly hint?: ComponentChildren;
  /** What is wrong with the value, in the API's words. */
  readonly fault?: string | undefined;
}

/** The attributes that tie a control to its label, hint and fault. */
export interface ControlProps {
  readonly id: string;
  readonly "aria-describedby": string;
  readonly "aria-invalid": boolean;
}

export function Field({
  label,
  of,
  hint,
  fault,
  children,
}: FieldProps & { readonly children: (control: ControlProps) => ComponentChildren }) {
  const id = useId();
  const control = {
    id,
    "aria-describedby": `${id}-hint ${id}-fault`,
    "aria-invalid": fault !== undefined,
  };
  return (
    <div class="field">
      <label for={id}>
        {label}
        <Of what={of} />
      </label>
      {children(control)}
      <span id={`${id}-hint`} class="hint">
        {hint}
      </span>
      <span id={`${id}-fault`} class="fault" role="alert">
        {fault}
      </span>
    </div>
  );
}

export const Of = ({ what }: { readonly what: string | undefined }) =>
  what === undefined ? null : <span class="visually-hidden"> of {what}</span>;

interface TextFieldProps extends FieldProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
  /** If given, the field is a text area of this many lines. */
  readonly lines?: number;
  readonly input?: InputHTMLAttributes;
}

export const TextField = ({ value, onInput, lines, input, ...field }: TextFieldProps) => (
  <Field {...field}>
    {(control) =>
      lines === undefined ? (
        <input
          type="text"
          autocomplete="off"
          {...input}
          {...control}
          value={value}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      ) : (
        <textarea
          {...control}
          rows={lines}
          value={value}
          spellcheck={false}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      )
    }
  </Field>
);

interface InstantFieldProps {
  readonly label: string;
  /** ISO 8601; empty: none. */
  readonly value: string;
  readonly onInput: (value: string) => void;
}

/** A date-time field in the time that the reader chose. */
export const InstantField = ({ label, value, onInput }: InstantFieldProps) => (
  <TextField
    label={`${label} (${zoneName()})`}
    value={instantText(value)}
    input={{ type: "datetime-local", max: "9999-12-31T23:59" }}
    onInput={(text) => onInput(instantOf(text))}
  />
);

export interface Choice<T extends string> {
  readonly value: T;
  readonly name: string;
}

interface SelectFieldProps<T extends string> extends FieldProps {
  readonly value: T;
  readonly choices: readonly Choice<T>[];
  readonly onChange: (value: T) => void;
}

export const SelectField = <T extends string>({
  value,
  choices,
  onChange,
  ...field
}: SelectFieldProps<T>) => (
  <Field {...field}>
    {(control) => (
      <select
        {...control}
        value={value}
        onChange={({ currentTarget }) => {
          const chosen = choices.find((choice) => choice.value === currentTarget.value);
          if (chosen) onChange(chosen.value);
        }}
      >
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.name}
          </option>
        ))}
      </select>
    )}
  </Field>
);

interface CheckFieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly value: boolean;
  readonly onChange: (value: boolean) => void;
}

export function CheckField({ label, hint, value, onChange }: CheckFieldProps) {
  const id = useId();
  return (
    <label class="row keep">
      <input
        type="checkbox"
        checked={value}
        aria-labelledby={`${id}-label`}
        aria-describedby={hint && `${id}-hint`}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
      <span>
        <span id={`${id}-label`}>{label}</span>
        {hint && (
          <span id={`${id}-hint`} class="check-hint">
            {hint}
          </span>
        )}
      </span>
    </label>
  );
}
