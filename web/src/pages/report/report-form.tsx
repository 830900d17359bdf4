// The form of a report: its name and who may read it, then its groups.
import type { Report } from "../../../../src/model/report.ts";
import type { Versioned } from "../../api.ts";
import { useEditing } from "../../editing.ts";
import { leaving } from "../../history-guard.ts";
import { movedTo } from "../../order.ts";
import { ConflictDialog } from "../../parts/conflict-dialog.tsx";
import { LeaveGuard } from "../../parts/leave-guard.tsx";
import { CheckField, TextField } from "../../parts/field.tsx";
import { Fault } from "../../parts/notice.tsx";
import { TagsField } from "../../parts/tags-field.tsx";
import { invalidate } from "../../queries.ts";
import { bodyOf, draftOf, newGroup } from "../../report-draft.ts";
import type { DraftGroup, ReportDraft } from "../../report-draft.ts";
import { session, useOrganizationOffer } from "../../session.ts";
import { GroupFields } from "./group-fields.tsx";

interface ReportFormProps {
  /** Undefined: a new one. */
  readonly stored: Versioned<Report> | undefined;
  readonly onSaved: (report: Report) => unknown;
  readonly onCancel: () => void;
}

export function ReportForm({ stored, onSaved, onCancel }: ReportFormProps) {
  const editing = useEditing<Report, ReportDraft>({
    path: "reports/",
    stored,
    draftOf,
    bodyOf,
    required: ["meta.name"],
    onSaved: ({ object }) => onSaved(object),
    onReloaded: () => invalidate(["reports"]),
  });
  const { draft, change, object, isChanged, sending, conflict } = editing;
  const { isBusy, submit, faultAt, faultBeside } = sending;
  return (
    <form class="stack report-form" onSubmit={submit}>
      <LeaveGuard isChanged={isChanged} />
      <About draft={draft} change={change} faultAt={faultAt} />
      <Groups
        groups={draft.groups}
        change={(groups) => change({ groups })}
        faultAt={faultAt}
        isStored={stored !== undefined}
      />
      <Fault error={faultBeside("meta", ...fieldsOf(draft.groups))} />
      <div class="row">
        <button class="button primary" type="submit" disabled={isBusy}>
          {object ? "Save" : "Create the report"}
        </button>
        <button class="button" type="button" onClick={() => leaving(onCancel)}>
          Cancel
        </button>
      </div>
      <ConflictDialog what="report" conflict={conflict} />
    </form>
  );
}

/** Paths of the fields that show their own faults. */
const fieldsOf = (groups: readonly DraftGroup[]): string[] =>
  groups.flatMap(({ rows }, at) => [
    `groups[${at}].name`,
    ...rows.map((_, index) => `groups[${at}].rows[${index}]`),
  ]);

interface AboutProps {
  readonly draft: ReportDraft;
  readonly change: (changed: Partial<ReportDraft>) => void;
  readonly faultAt: (path: string) => string | undefined;
}

const About = ({ draft, change, faultAt }: AboutProps) => (
  <section class="card">
    <h2>Details</h2>
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
      {useOrganizationOffer(draft.org) && (
        <CheckField
          label={
            session.value?.org
              ? `Members of ${session.value.org}`
              : "Members of my organization (my key has none)"
          }
          value={draft.org}
          onChange={(org) => change({ org })}
        />
      )}
      <CheckField
        label="Everyone with a key"
        value={draft.public}
        onChange={(everyone) => change({ public: everyone })}
      />
      <p class="muted small">Readers see only the rows of calls whose statistics they may see.</p>
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
          Rows of calls whose statistics you may no longer see are not listed here. They stay unless
          you remove their group.
        </span>
      )}
    </div>
  </>
);
