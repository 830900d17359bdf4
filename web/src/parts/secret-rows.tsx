// Rows of a name and a secret value each. Stored values are never shown.
import { useRef } from "preact/hooks";
import type { KeyValue } from "../../../src/model/fields.ts";
import { useRowList } from "./row-list.ts";
import { SecretField } from "./secret-field.tsx";
import type { NewSecret } from "./secret-field.tsx";

export interface SecretRow {
  /** Stays the same while the row is edited. */
  readonly id: number;
  readonly name: string;
  /** The stored value, which stays unless `value` replaces it; undefined: the row is new. */
  readonly stored?: string;
  readonly value: NewSecret;
}

let made = 0;
const newRow = (): SecretRow => ({ id: ++made, name: "", value: undefined });

export const storedRows = (pairs: readonly KeyValue[]): SecretRow[] =>
  pairs.map(({ key, value }) => ({ ...newRow(), name: key, stored: value }));

interface SecretRowsProps {
  /** For screen readers; the caller shows a heading. */
  readonly title: string;
  /** What one row is called, such as `header`. */
  readonly noun: string;
  readonly hint?: string;
  readonly rows: readonly SecretRow[];
  /** Whether the name of a stored row may change. */
  readonly isRenamable?: boolean;
  /** Returns what is wrong with the row at this index, or with one of its parts. */
  readonly faultAt: (index: number) => string | undefined;
  /** What is wrong with the list, or with one of its rows. */
  readonly fault: string | undefined;
  readonly onChange: (rows: readonly SecretRow[]) => void;
}

export function SecretRows(props: SecretRowsProps) {
  const { title, noun, hint, rows, isRenamable = false, faultAt, fault, onChange } = props;
  const change = (index: number, changed: Partial<SecretRow>): void =>
    onChange(rows.map((row, at) => (at === index ? { ...row, ...changed } : row)));
  const list = useRef<HTMLDivElement>(null);
  const { add, remove } = useRowList(list, { rows, noun, newRow, onChange });
  return (
    <div class="stack" role="group" aria-label={title} ref={list}>
      {hint && <p class="small muted">{hint}</p>}
      {rows.map((row, index) => (
        <div class="secret-row row-of-list" key={row.id}>
          <label class="field">
            <span class="label">Name</span>
            <input
              type="text"
              autocomplete="off"
              spellcheck={false}
              required
              value={row.name}
              readOnly={row.stored !== undefined && !isRenamable}
              aria-label={`Name of ${noun} ${index + 1}`}
              aria-invalid={faultAt(index) !== undefined}
              onInput={({ currentTarget }) => change(index, { name: currentTarget.value })}
            />
          </label>
          <SecretField
            label="Value"
            of={`${noun} ${index + 1}`}
            isStored={row.stored !== undefined}
            isClearable={false}
            value={row.value}
            fault={faultAt(index)}
            onChange={(value) => change(index, { value })}
          />
          <button class="button" type="button" onClick={() => remove(index)}>
            Remove<span class="visually-hidden"> {row.name || `the new ${noun}`}</span>
          </button>
        </div>
      ))}
      <button class="button add" type="button" onClick={add}>
        Add a {noun}
      </button>
      <span class="fault" role="alert">
        {rows.some((_, index) => faultAt(index) !== undefined) ? undefined : fault}
      </span>
    </div>
  );
}

/** Returns a change by name: null removes a stored name that is no longer among the rows. */
export function changedNames(
  stored: readonly string[],
  rows: readonly SecretRow[],
): Record<string, string | null> {
  const kept = new Set(rows.map(({ name }) => name));
  return Object.fromEntries([
    ...stored.filter((name) => !kept.has(name)).map((name) => [name, null] as const),
    ...rows
      .filter((row) => row.stored === undefined || row.value)
      .map(({ name, value }) => [name, value ?? ""] as const),
  ]);
}
