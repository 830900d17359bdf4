// Making and changing a workflow.
import { useEffect, useState } from "preact/hooks";
import type { Workflow } from "../../../../src/model/workflow.ts";
import { ApiError, sendVersioned } from "../../api.ts";
import type { Versioned } from "../../api.ts";
import { placeFault } from "../../fault-place.ts";
import { announce } from "../../parts/announcement.tsx";
import { Fault } from "../../parts/notice.tsx";
import { invalidate } from "../../queries.ts";
import { Behaviour, Details, Sharing } from "./details.tsx";
import { bodyOf, draftOf, isSame, NEW_DRAFT } from "./draft.ts";
import type { Draft } from "./draft.ts";
import { StepsEditor } from "./steps-editor.tsx";

interface EditorProps {
  /** Undefined: a new workflow. */
  readonly stored: Versioned<Workflow> | undefined;
  readonly onSaved: (workflow: Workflow) => void;
}

/** The fields that show what is wrong with them. */
const FIELDS = ["meta.name", "meta.description", "meta.tags"];
const CALL_AT = /^workflow\.call_ids\[(\d+)\]/;

export function Editor({ stored, onSaved }: EditorProps) {
  const editing = useDraft(stored, onSaved);
  const { draft, change, discard, reload, save, hasChanges, isBusy, fault } = editing;
  const path = fault ? placeFault(fault.message).path : undefined;
  const isAt = (field: string): boolean => path === field || path?.startsWith(`${field}[`) === true;
  const atCall = Number(CALL_AT.exec(path ?? "")?.[1] ?? -1);
  const isPlaced = FIELDS.some(isAt) || draft.steps[atCall] !== undefined;
  const isConflict = fault instanceof ApiError && fault.status === 412;
  const submit = (event: Event): void => {
    event.preventDefault();
    void save({ overwrite: false });
  };
  return (
    <form class="workflow-form" onSubmit={submit}>
      <div class="stack">
        <section class="card" aria-labelledby="workflow-calls">
          <h2 id="workflow-calls">Calls in order</h2>
          <StepsEditor
            steps={draft.steps}
            faultAt={(at) => (at === atCall ? fault?.message : undefined)}
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
          <Details
            draft={draft}
            onChange={change}
            faultAt={(field) => (isAt(field) ? fault?.message : undefined)}
          />
        </section>
        <section class="card" aria-labelledby="workflow-sharing">
          <h2 id="workflow-sharing">Sharing</h2>
          <Sharing draft={draft} onChange={change} />
        </section>
      </div>
      {(hasChanges || !stored) && (
        <div class="save-bar">
          {isConflict ? (
            <Conflict
              onReload={() => void reload()}
              onOverwrite={() => void save({ overwrite: true })}
            />
          ) : (
            <>
              {!isPlaced && <Fault error={fault} />}
              <SaveButtons isNew={!stored} isBusy={isBusy} onDiscard={discard} />
            </>
          )}
        </div>
      )}
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
        <span class="muted small">Unsaved: runs use the workflow as it was.</span>
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

const Conflict = ({
  onReload,
  onOverwrite,
}: {
  readonly onReload: () => void;
  readonly onOverwrite: () => void;
}) => (
  <div class="notice warn" role="alert">
    <span>
      The workflow was changed elsewhere after you opened it. Your changes are not saved yet.
    </span>
    <div class="row">
      <button class="button" type="button" onClick={onReload}>
        Discard mine and show the other version
      </button>
      <button class="button" type="button" onClick={onOverwrite}>
        Save mine over it
      </button>
    </div>
  </div>
);

/** What is edited, on top of the version that it began with. */
function useDraft(stored: Versioned<Workflow> | undefined, onSaved: EditorProps["onSaved"]) {
  const [base, setBase] = useState(stored);
  const before = base ? draftOf(base.object) : NEW_DRAFT;
  const [draft, setDraft] = useState(before);
  const [fault, setFault] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const hasChanges = !isSame(draft, before);
  const begin = (from: Versioned<Workflow> | undefined): void => {
    setBase(from);
    setDraft(from ? draftOf(from.object) : NEW_DRAFT);
    setFault(null);
  };
  // A newer version is taken over unless there is something to lose.
  useEffect(() => {
    if (!hasChanges && stored?.version !== base?.version) begin(stored);
  }, [stored?.version]);
  useUnloadQuestion(hasChanges);
  const save = async ({ overwrite }: { readonly overwrite: boolean }): Promise<void> => {
    setBusy(true);
    setFault(null);
    try {
      const saved = await store(base, draft, overwrite);
      begin(saved);
      announce("Saved");
      await invalidate(["workflows"]);
      onSaved(saved.object);
    } catch (cause) {
      setFault(cause as Error);
    } finally {
      setBusy(false);
    }
  };
  return {
    draft,
    fault,
    isBusy,
    hasChanges,
    save,
    change: (changed: Partial<Draft>) => setDraft((now) => ({ ...now, ...changed })),
    discard: () => begin(base),
    /** Takes over what is stored now. */
    reload: async (): Promise<void> => {
      if (!base) return;
      try {
        begin(await sendVersioned<Workflow>("GET", `workflows/${base.object.id}/`));
        await invalidate(["workflows"]);
      } catch (cause) {
        setFault(cause as Error);
      }
    },
  };
}

function store(
  base: Versioned<Workflow> | undefined,
  draft: Draft,
  overwrite: boolean,
): Promise<Versioned<Workflow>> {
  const body = bodyOf(draft);
  if (!base) return sendVersioned<Workflow>("POST", "workflows/", { body });
  const isChecked = !overwrite && base.version !== null;
  return sendVersioned<Workflow>("PUT", `workflows/${base.object.id}/`, {
    body,
    ...(isChecked && { headers: { "if-match": base.version } }),
  });
}

/** The browser asks before a page with unsaved changes is left. */
function useUnloadQuestion(isAsked: boolean): void {
  useEffect(() => {
    if (!isAsked) return undefined;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [isAsked]);
}
