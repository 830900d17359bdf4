// The form that creates or changes a workflow.
import type { Workflow } from "../../../../src/model/workflow.ts";
import type { Versioned } from "../../api.ts";
import { useEditing } from "../../editing.ts";
import { useFocusAfter } from "../../focus.ts";
import { announce } from "../../announcement.tsx";
import { ConflictDialog } from "../../parts/conflict-dialog.tsx";
import { LeaveGuard } from "../../parts/leave-guard.tsx";
import { Fault } from "../../parts/notice.tsx";
import { invalidate } from "../../queries.ts";
import { Behaviour, Details, Sharing } from "./details.tsx";
import { bodyOf, draftOf } from "./draft.ts";
import type { Draft } from "./draft.ts";
import { StepsEditor } from "./steps-editor.tsx";

interface EditorProps {
  /** Undefined: a new workflow. */
  readonly stored: Versioned<Workflow> | undefined;
  readonly onSaved?: (workflow: Workflow) => unknown;
}

/** Fields that show their own faults. */
const FIELDS = ["meta.name", "meta.description", "meta.tags"];
const callAt = (place: number): string => `workflow.call_ids[${place}]`;

export function Editor({ stored, onSaved }: EditorProps) {
  const editing = useEditing<Workflow, Draft>({
    path: "workflows/",
    stored,
    draftOf,
    bodyOf,
    required: ["meta.name"],
    onSaved: async ({ object }) => {
      announce(stored ? "Saved" : `Created the workflow "${object.meta.name}"`);
      await invalidate(["workflows"]);
      onSaved?.(object);
    },
    onReloaded: () => invalidate(["workflows"]),
  });
  const { draft, change, object, isChanged, sending, conflict } = editing;
  const { submit, faultAt, faultBeside } = sending;
  const isUnsaved = isChanged || !object;
  useFocusAfter(isUnsaved);
  return (
    <form class="workflow-form" onSubmit={submit} noValidate>
      <LeaveGuard isChanged={isChanged} />
      <div class="stack">
        <section class="card" aria-labelledby="workflow-calls">
          <h2 id="workflow-calls">Calls in order</h2>
          <StepsEditor
            steps={draft.steps}
            faultAt={(at) => faultAt(callAt(at))}
            onChange={(steps) => change({ steps })}
          />
        </section>
        <section class="card" aria-labelledby="workflow-behaviour">
          <h2 id="workflow-behaviour">Behaviour</h2>
          <Behaviour draft={draft} onChange={change} />
        </section>
      </div>
      <div class="stack">
        <section class="card" aria-labelledby="workflow-details">
          <h2 id="workflow-details">Details</h2>
          <Details draft={draft} onChange={change} faultAt={faultAt} />
        </section>
        <section class="card" aria-labelledby="workflow-sharing">
          <h2 id="workflow-sharing">Sharing</h2>
          <Sharing draft={draft} onChange={change} />
        </section>
      </div>
      {isUnsaved && (
        <div class="save-bar">
          <Fault error={faultBeside(...FIELDS, ...draft.steps.map((_, at) => callAt(at)))} />
          <SaveButtons isNew={!object} isBusy={sending.isBusy} onDiscard={editing.discard} />
        </div>
      )}
      <ConflictDialog what="workflow" conflict={conflict} />
    </form>
  );
}

const SaveButtons = ({
  isNew,
  isBusy,
  onDiscard,
}: {
  readonly isNew: boolean;
  readonly isBusy: boolean;
  readonly onDiscard: () => void;
}) => (
  <div class="row">
    {!isNew && (
      <>
        <span class="muted small">Unsaved: runs use the last saved version.</span>
        <button class="button" type="button" onClick={onDiscard}>
          Discard changes
        </button>
      </>
    )}
    <button class="button primary" type="submit" disabled={isBusy}>
      {isNew ? "Create workflow" : "Save changes"}
    </button>
  </div>
);
