// Names and values in rows: parameters, headers, context values.
import { useId, useRef } from "preact/hooks";
import { newRow, sentIndex } from "../rows.ts";
import type { Row } from "../rows.ts";
import { useRowList } from "./row-list.ts";
import "../styles/pair-rows.css";

interface PairRowsProps {
  readonly title: string;
  /** What one of them is called, such as `header`. */
  readonly noun: string;
  readonly hint?: string;
  readonly rows: readonly Row[];
  readonly onChange: (rows: readonly Row[]) => void;
  /** Returns what is wrong at or below a path in the list: ``, `[0]`, `[0].key`. */
  readonly faultAt?: (path: string) => string | undefined;
}

export function PairRows(props: PairRowsProps) {
  const { title, noun, hint, rows, onChange, faultAt = () => undefined } = props;
  const id = useId();
  const list = useRef<HTMLFieldSetElement>(null);
  const { add, remove } = useRowList(list, { rows, noun, newRow, onChange });
  const faultOfRow = (row: Row, path = ""): string | undefined => {
    const sent = sentIndex(rows, row);
    return sent === undefined ? undefined : faultAt(`[${sent}]${path}`);
  };
  return (
    <fieldset class="pair-rows" ref={list} aria-describedby={`${id}-hint ${id}-fault`}>
      <legend>{title}</legend>
      <ol>
        {rows.map((row, at) => (
          <PairRow
            key={row.id}
            row={row}
            name={`${noun} ${at + 1}`}
            faultAt={(path) => faultOfRow(row, path)}
            onChange={(changed) => onChange(rows.map((one) => (one === row ? changed : one)))}
            onRemove={() => remove(at)}
          />
        ))}
      </ol>
      <button class="button add" type="button" onClick={add}>
        Add {/^[aeiou]/i.test(noun) ? "an" : "a"} {noun}
      </button>
      <span id={`${id}-hint`} class="hint">
        {hint}
      </span>
      <span id={`${id}-fault`} class="fault" role="alert">
        {rows.some((row) => faultOfRow(row) !== undefined) ? undefined : faultAt("")}
      </span>
    </fieldset>
  );
}

interface PairRowProps {
  readonly row: Row;
  /** Such as `header 2`. */
  readonly name: string;
  readonly faultAt: (path: string) => string | undefined;
  readonly onChange: (row: Row) => void;
  readonly onRemove: () => void;
}

type Part = keyof typeof LABELS;

const LABELS = { key: "Name", value: "Value" } as const;
const PARTS = Object.keys(LABELS) as Part[];

function PairRow({ row, name, faultAt, onChange, onRemove }: PairRowProps) {
  const id = useId();
  const faulty = PARTS.find((part) => faultAt(`.${part}`) !== undefined);
  const control = (part: Part) => (
    <input
      type="text"
      autocomplete="off"
      spellcheck={false}
      class="mono"
      aria-label={`${LABELS[part]} of ${name}`}
      placeholder={LABELS[part]}
      aria-invalid={faultAt(`.${part}`) !== undefined}
      aria-describedby={id}
      value={row[part]}
      onInput={({ currentTarget }) => onChange({ ...row, [part]: currentTarget.value })}
    />
  );
  return (
    <li class="row-of-list">
      {control("key")}
      {control("value")}
      <button class="button quiet" type="button" onClick={onRemove}>
        <span aria-hidden="true">×</span>
        <span class="visually-hidden">Remove {name}</span>
      </button>
      <span id={id} class="fault" role="alert">
        {faulty ? `${LABELS[faulty]}: ${faultAt(`.${faulty}`)}` : faultAt("")}
      </span>
    </li>
  );
}
