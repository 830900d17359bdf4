// The form of a report: its name and who may read it, then its groups.
import { useState } from "preact/hooks";
import type { Report } from "../../../../src/model/report.ts";
import { send } from "../../api.ts";
import type { Versioned } from "../../api.ts";
import { useSending } from "../../form.ts";
import { CheckField, TextField } from "../../parts/field.tsx";
import { Fault } from "../../parts/notice.tsx";
import { TagsField } from "../../parts/tags-field.tsx";
import { bodyOf, draftOf, movedTo, newGroup } from "../../report-draft.ts";
import type { DraftGroup, ReportDraft } from "../../report-draft.ts";
import { session } from "../../session.ts";
import { GroupFields } from "./group-fields.tsx";

interface ReportFormProps {
  /** Undefined: a new one. */
  readonly stored: Versioned<Report> | undefined;
  readonly onSaved: (report: Report) => unknown;
  readonly onCancel: () => void;
}

export function ReportForm({ stored, onSaved, onCancel }: ReportFormProps) {
  // What was read when the form opened: a later version is somebody else's.
  const [{ object, version } = { object: undefined, version: null }] = useState(stored);
  const [draft, setDraft] = useState(() => draftOf(object));
  const sending = useSending(async () => {
    const body = bodyOf(draft, object);
    const saved = object
      ? await send<Report>("PUT", `reports/${object.id}/`, {
          body,
          ...(version !== null && { headers: { "if-match": version } }),
        })
      : await send<Report>("POST", "reports/", { body });
    await onSaved(saved);
  });
  const change = (changed: Partial<ReportDraft>): void => setDraft({ ...draft, ...changed });
  const { isBusy, submit, faultAt, faultBeside } = sending;
  return (
    <form class="stack report-form" onSubmit={submit}>
      <About draft={draft} change={change} faultAt={faultAt} />
      <Groups
        groups={draft.groups}
        change={(groups) => change({ groups })}
        faultAt={faultAt}
        isStored={object !== undefined}
      />
      <Fault error={faultBeside("meta.name", "meta.description", "meta.tags", "groups")} />
      <div class="row">
        <button class="button primary" type="submit" disabled={isBusy}>
          {object ? "Save" : "Create the report"}
        </button>
        <button class="button" type="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}

interface AboutProps {
  readonly draft: ReportDraft;
  readonly change: (changed: Partial<ReportDraft>) => void;
  readonly faultAt: (path: string) => string | undefined;
}

const About = ({ draft, change, faultAt }: AboutProps) => (
  <section class="card">
    <h2>About it</h2>
    <div class="fields">
      <TextField
        label="Name"
        value={draft.name}
        onInput={(name) => change({ name })}
        fault={faultAt("meta.name")}
      />
      <TextField
        label="Description"
        value={draft.description}
        onInput={(description) => change({ description })}
        fault={faultAt("meta.description")}
      />
      <TagsField
        tags={draft.tags}
        onChange={(tags) => change({ tags })}
        fault={faultAt("meta.tags")}
      />
    </div>
    <fieldset class="plain-fieldset">
      <legend>Who else may read it</legend>
      <CheckField
        label={
          session.value?.org
            ? `Members of ${session.value.org}`
            : "Members of my organization (my key has none)"
        }
        value={draft.org}
        onChange={(org) => change({ org })}
      />
      <CheckField
        label="Everyone with a key"
        value={draft.public}
        onChange={(everyone) => change({ public: everyone })}
      />
      <p class="muted small">
        Each reader sees the rows of calls whose statistics that reader may see.
      </p>
    </fieldset>
  </section>
);

interface GroupsProps {
  readonly groups: readonly DraftGroup[];
  readonly change: (groups: readonly DraftGroup[]) => void;
  readonly faultAt: (path: string) => string | undefined;
  readonly isStored: boolean;
}

const Groups = ({ groups, change, faultAt, isStored }: GroupsProps) => (
  <>
    {groups.map((group, at) => (
      <GroupFields
        key={group.key}
        group={group}
        at={at}
        last={groups.length - 1}
        faultAt={(path) => faultAt(`groups[${at}]${path}`)}
        change={(changed) => change(groups.with(at, changed))}
        move={(to) => change(movedTo(groups, at, to))}
        remove={() => change(groups.toSpliced(at, 1))}
      />
    ))}
    <div class="row">
      <button
        class="button"
        type="button"
        onClick={() => change([...groups, newGroup(`Group ${groups.length + 1}`)])}
      >
        Add a group
      </button>
      {isStored && (
        <span class="muted small">
          Rows of calls whose statistics you may not see any more are not listed here. Saving
          changed groups removes them.
        </span>
      )}
    </div>
  </>
);
