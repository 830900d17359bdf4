// The form of an environment variable, in a dialog.
import { useRef, useState } from "preact/hooks";
import { missingOf, send } from "../../api.ts";
import { useSending } from "../../form.ts";
import { leaving } from "../../history-guard.ts";
import { announce } from "../../announcement.tsx";
import { Dialog, DialogButtons } from "../../parts/dialog.tsx";
import { Field, TextField } from "../../parts/field.tsx";
import type { FieldProps } from "../../parts/field.tsx";
import { useShown } from "../../shown.ts";
import { LeaveGuard } from "../../parts/leave-guard.tsx";
import { Fault } from "../../parts/notice.tsx";
import { variablePath } from "./variable.ts";
import type { ShownVariable } from "./variable.ts";

interface VariableFormProps {
  /** Undefined: a new one. */
  readonly stored: ShownVariable | undefined;
  /** The initial workspace of a new variable. */
  readonly workspace: string;
  /** `isDone`: the reader has neither left the form nor typed on meanwhile. */
  readonly onSaved: (workspace: string, isDone: boolean) => unknown;
  readonly onClose: () => void;
}

interface Draft {
  readonly workspace: string;
  readonly name: string;
  readonly value: string;
}

export function VariableForm({ stored, onSaved, onClose, ...at }: VariableFormProps) {
  const isShown = useShown();
  const [draft, setDraft] = useState<Draft>({
    workspace: stored?.meta.workspace ?? at.workspace,
    name: stored?.workspace_variable.name ?? "",
    value: "",
  });
  const latest = useRef(draft);
  latest.current = draft;
  const change = (part: Partial<Draft>): void => setDraft((now) => ({ ...now, ...part }));
  const { workspace, name, value } = draft;
  /** The path of the variable that was sent last: it may exist, though no answer arrived. */
  const sent = useRef<string>(undefined);
  const save = async (): Promise<void> => {
    const path = variablePath(workspace, name);
    const isFirst = path !== sent.current;
    if (isFirst && !stored) await assertNew(workspace, name);
    const changed = isFirst && stored ? await changeOf(stored, path) : undefined;
    sent.current = path;
    if (changed)
      throw new Error(
        `The variable has been ${changed} elsewhere. Save again to set your value anyway`,
      );
    await send("POST", path, { body: { value } });
    const isNewer = isShown() && latest.current !== draft;
    const isDone = isShown() && !isNewer;
    announce(isNewer ? "Saved, except for your changes since then" : `Saved ${name}`);
    if (isDone) onClose();
    await onSaved(workspace, isDone);
  };
  const { isBusy, submit, faultAt, faultBeside } = useSending(save, {
    body: { workspace, variable_name: name, value },
    required: stored && ["value"],
  });
  const isChanged = value !== "" || (!stored && (name !== "" || workspace !== at.workspace));
  const close = (): void => (isChanged ? leaving(onClose) : onClose());
  return (
    <Dialog title={stored ? `Variable ${name}` : "New variable"} onClose={close}>
      <form class="stack" onSubmit={submit}>
        <LeaveGuard isChanged={isChanged} />
        {!stored && <Names draft={draft} faultAt={faultAt} onChange={change} />}
        <ValueField
          label={stored ? "New value" : "Value"}
          value={value}
          fault={faultAt("value")}
          onInput={(typed) => change({ value: typed })}
        />
        <Fault error={faultBeside("workspace", "variable_name", "value")} />
        <DialogButtons verb="Save" isBusy={isBusy} onCancel={close} />
      </form>
    </Dialog>
  );
}

interface NamesProps {
  readonly draft: Draft;
  readonly faultAt: (name: string) => string | undefined;
  readonly onChange: (part: Partial<Draft>) => void;
}

const Names = ({ draft: { workspace, name }, faultAt, onChange }: NamesProps) => (
  <div class="fields">
    <TextField
      label="Workspace"
      hint="A new name creates a workspace."
      value={workspace}
      fault={faultAt("workspace")}
      input={{ required: true }}
      onInput={(typed) => onChange({ workspace: typed })}
    />
    <TextField
      label="Name"
      hint="Letters, digits and _; no leading digit."
      value={name}
      fault={faultAt("variable_name")}
      input={{ required: true, spellcheck: false }}
      onInput={(typed) => onChange({ name: typed })}
    />
  </div>
);

const ValueField = ({
  label,
  value,
  fault,
  onInput,
}: Pick<FieldProps, "label" | "fault"> & {
  readonly value: string;
  readonly onInput: (value: string) => void;
}) => (
  <Field label={label} hint="Never shown again. A value may have several lines." fault={fault}>
    {(control) => (
      <textarea
        {...control}
        class="masked"
        rows={2}
        autocomplete="off"
        spellcheck={false}
        value={value}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
    )}
  </Field>
);

/** The API would overwrite an existing variable's value, which no one could read again. */
async function assertNew(workspace: string, name: string): Promise<void> {
  if ([".", ".."].includes(workspace))
    throw new Error(
      `workspace: '${workspace}' cannot name a workspace: in a URL, it leads elsewhere`,
    );
  try {
    await send("GET", variablePath(workspace, name));
  } catch (cause) {
    if (missingOf(cause)) return;
    throw cause;
  }
  throw new Error(
    `variable_name: '${name}' is in the workspace '${workspace}' already. Change it there, or choose another name`,
  );
}

/** Tells what others did since the variable was shown: variables have no versions to send. */
async function changeOf(
  { meta }: ShownVariable,
  path: string,
): Promise<"changed" | "deleted" | undefined> {
  try {
    const now = await send<ShownVariable>("GET", path);
    return now.meta.updated === meta.updated ? undefined : "changed";
  } catch (cause) {
    if (missingOf(cause)) return "deleted";
    throw cause;
  }
}
