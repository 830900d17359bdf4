// A field for a secret. What is stored is never shown: it can be kept, replaced or cleared.
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { Field, Of } from "./field.tsx";
import type { FieldProps } from "./field.tsx";

/** Undefined or empty: the stored secret stays. Null: it is cleared. */
export type NewSecret = string | null | undefined;

/** Returns the part of a change for a secret: empty if it stays as it is. */
export const changeOf = <N extends string>(name: N, secret: NewSecret) =>
  (secret === undefined || secret === "" ? {} : { [name]: secret }) as { [K in N]?: string | null };

interface SecretFieldProps extends FieldProps {
  /** Whether a value is stored. */
  readonly isStored: boolean;
  readonly value: NewSecret;
  readonly onChange: (value: NewSecret) => void;
  /** More than one line, such as a key in PEM. */
  readonly lines?: number;
  /** Whether it may be cleared; true by default. */
  readonly isClearable?: boolean;
}

export function SecretField(props: SecretFieldProps) {
  const { isStored, value, onChange, lines, isClearable = true, ...field } = props;
  const [isReplacing, setReplacing] = useState(Boolean(value));
  const { label, of, hint } = field;
  const what = of === undefined ? label : `${label} of ${of}`;
  const keep = (): void => {
    setReplacing(false);
    onChange(undefined);
  };
  if (value === null)
    return (
      <StoredSecret label={label} of={of} hint={hint} state="Cleared when you save">
        <SecretButton verb="Keep" what={what} onClick={keep} />
      </StoredSecret>
    );
  if (isStored && !isReplacing)
    return (
      <StoredSecret label={label} of={of} hint={hint} state="Stored, not shown">
        <SecretButton verb="Replace" what={what} onClick={() => setReplacing(true)} />
        {isClearable && <SecretButton verb="Clear" what={what} onClick={() => onChange(null)} />}
      </StoredSecret>
    );
  return (
    <Field {...field}>
      {(control) => {
        const common = {
          ...control,
          value: value ?? "",
          autofocus: isReplacing,
          onInput: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
            onChange(currentTarget.value),
        };
        return (
          <div class="secret">
            {lines === undefined ? (
              <input {...common} type="password" autocomplete="new-password" />
            ) : (
              <textarea {...common} class="masked" rows={lines} autocomplete="off" />
            )}
            {isStored && <SecretButton verb="Keep" what={what} onClick={keep} />}
          </div>
        );
      }}
    </Field>
  );
}

/** Looks like a field, but has nothing to type into. */
function StoredSecret({
  label,
  of,
  hint,
  state,
  children,
}: Pick<FieldProps, "label" | "of" | "hint"> & {
  readonly state: string;
  readonly children: ComponentChildren;
}) {
  const id = useId();
  return (
    <div class="field" role="group" aria-labelledby={id}>
      <span id={id} class="label">
        {label}
        <Of what={of} />
      </span>
      <div class="secret">
        <span class="kept">{state}</span>
        {children}
      </div>
      <span class="hint">{hint}</span>
    </div>
  );
}

const SecretButton = ({
  verb,
  what,
  onClick,
}: {
  readonly verb: string;
  readonly what: string;
  readonly onClick: () => void;
}) => (
  <button class="button" type="button" onClick={onClick}>
    {verb}
    <span class="visually-hidden"> {what}</span>
  </button>
);
