// The fields of a report's group: its name, its rows in order, and one to add.
import { useState } from "preact/hooks";
import { useCallsById } from "../../call-names.ts";
import { nameOfLocation, useLocations } from "../../locations.tsx";
import { movedTo } from "../../order.ts";
import { Combobox } from "../../parts/combobox.tsx";
import { TextField } from "../../parts/field.tsx";
import { LocationField } from "../../parts/location-field.tsx";
import { newRow } from "../../report-draft.ts";
import type { DraftGroup, DraftRow } from "../../report-draft.ts";
import { MoveButtons } from "./move-buttons.tsx";

interface GroupFieldsProps {
  readonly group: DraftGroup;
  /** Its index among the groups, and the last index. */
  readonly at: number;
  readonly last: number;
  /** Returns what is wrong at a path within the group, such as `.name`. */
  readonly faultAt: (path: string) => string | undefined;
  readonly change: (group: DraftGroup) => void;
  readonly move: (to: number) => void;
  readonly remove: () => void;
}

export function GroupFields(props: GroupFieldsProps) {
  const { group, at, last, faultAt, change, move, remove } = props;
  const { name, rows } = group;
  const put = (changed: readonly DraftRow[]): void => change({ ...group, rows: changed });
  const called = name || `group ${at + 1}`;
  return (
    <fieldset class="card">
      <legend class="visually-hidden">{called}</legend>
      <div class="row group-head">
        <TextField
          label="Name of the group"
          value={name}
          onInput={(text) => change({ ...group, name: text })}
          fault={faultAt(".name")}
        />
        <MoveButtons what={called} at={at} last={last} move={move} />
        <button
          class="button danger"
          type="button"
          onClick={({ currentTarget }) => {
            // The next group, or the button that adds one.
            const next = currentTarget.closest("fieldset")?.nextElementSibling;
            next?.querySelector<HTMLElement>("input, button")?.focus();
            remove();
          }}
        >
          Remove<span class="visually-hidden"> {called}</span>
        </button>
      </div>
      {rows.length === 0 && <p class="muted">No rows yet: a row is a call at a location.</p>}
      <ol class="draft-rows">
        {rows.map((row, index) => (
          <RowFields
            key={row.key}
            row={row}
            at={index}
            last={rows.length - 1}
            fault={faultAt(`.rows[${index}]`)}
            change={(changed) => put(rows.with(index, changed))}
            move={(to) => put(movedTo(rows, index, to))}
            remove={() => put(rows.toSpliced(index, 1))}
          />
        ))}
      </ol>
      <NewRow add={(row) => put([...rows, row])} />
    </fieldset>
  );
}

interface RowFieldsProps {
  readonly row: DraftRow;
  readonly at: number;
  readonly last: number;
  readonly fault: string | undefined;
  readonly change: (row: DraftRow) => void;
  readonly move: (to: number) => void;
  readonly remove: () => void;
}

function RowFields({ row, at, last, fault, change, move, remove }: RowFieldsProps) {
  const calls = useCallsById();
  const places = useLocations();
  const [isUsed, setUsed] = useState(false);
  const use = (): void => setUsed(true);
  const call = calls?.get(row.call_id);
  const name = call?.meta.name ?? (calls ? row.call_id : "…");
  const what = `${name} at ${nameOfLocation(places, row.location_id)}`;
  return (
    <li onFocusCapture={use} onPointerDownCapture={use}>
      <div class="call">
        <strong>{name}</strong>
        <span class="muted small">{call?.request.url}</span>
      </div>
      <LocationField
        label={`Location of row ${at + 1}`}
        value={row.location_id}
        isFixed={!isUsed}
        onChange={(location_id) => change({ ...row, location_id })}
        fault={fault}
      />
      <div class="row">
        <MoveButtons what={what} at={at} last={last} move={move} />
        <button
          class="button quiet"
          type="button"
          onClick={({ currentTarget }) => {
            focusBeside(currentTarget);
            remove();
          }}
        >
          Remove<span class="visually-hidden"> {what}</span>
        </button>
      </div>
    </li>
  );
}

/** Moves the focus to a row beside the button's, or to the field that adds one. */
function focusBeside(button: Element): void {
  const row = button.closest("li");
  const beside = (row?.nextElementSibling ?? row?.previousElementSibling)?.querySelector("select");
  const add = row?.closest("fieldset")?.querySelector<HTMLElement>(".new-row [role=combobox]");
  (beside ?? add)?.focus();
}

/** Keeps the location for the next row: groups often hold many calls at one location. */
function NewRow({ add }: { readonly add: (row: DraftRow) => void }) {
  const calls = useCallsById();
  const [location, setLocation] = useState("");
  return (
    <div class="fields new-row">
      <LocationField label="Location of new rows" value={location} onChange={setLocation} />
      <Combobox
        label="Add a call"
        placeholder="Name or URL"
        hint="Choose a call to add it at the location."
        options={
          calls &&
          [...calls.values()].map(({ id, meta, request }) => ({
            id,
            name: meta.name,
            note: request.url,
          }))
        }
        onChoose={({ id }) => add(newRow(id, location))}
      />
    </div>
  );
}
