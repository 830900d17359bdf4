// The fields of a workflow other than its calls.
import { CheckField, TextField } from "../../parts/field.tsx";
import { TagsField } from "../../parts/tags-field.tsx";
import { useOrganizationOffer } from "../../session.ts";
import type { Draft } from "./draft.ts";

interface DetailsProps {
  readonly draft: Draft;
  readonly onChange: (changed: Partial<Draft>) => void;
  /** Returns what is wrong with the field at this path, such as `meta.name`. */
  readonly faultAt: (path: string) => string | undefined;
}

export const Details = ({ draft, onChange, faultAt }: DetailsProps) => (
  <>
    <TextField
      label="Name"
      value={draft.name}
      input={{ required: true, maxLength: 200 }}
      fault={faultAt("meta.name")}
      onInput={(name) => onChange({ name })}
    />
    <TextField
      label="Description"
      lines={2}
      value={draft.description}
      fault={faultAt("meta.description")}
      onInput={(description) => onChange({ description })}
    />
    <TagsField
      tags={draft.tags}
      fault={faultAt("meta.tags")}
      onChange={(tags) => onChange({ tags })}
    />
  </>
);

export const Behaviour = ({ draft, onChange }: Omit<DetailsProps, "faultAt">) => (
  <>
    <CheckField
      label="Stop on failure"
      hint="A call that ends with an error response or a connection error ends the run; later calls are skipped."
      value={draft.stopOnFailure}
      onChange={(stopOnFailure) => onChange({ stopOnFailure })}
    />
    <CheckField
      label="Handle cookies"
      hint="Cookies that a call receives are sent with later calls. Runs do not share them."
      value={draft.handleCookies}
      onChange={(handleCookies) => onChange({ handleCookies })}
    />
  </>
);

export const Sharing = ({ draft, onChange }: Omit<DetailsProps, "faultAt">) => (
  <>
    {useOrganizationOffer(draft.isOrg) && (
      <CheckField
        label="Share with the organization"
        hint="Its members see the workflow and its runs, and may run and deploy it."
        value={draft.isOrg}
        onChange={(isOrg) => onChange({ isOrg })}
      />
    )}
    <CheckField
      label="Share with everyone"
      hint="Everyone with a key sees the workflow and its runs, but cannot run it."
      value={draft.isPublic}
      onChange={(isPublic) => onChange({ isPublic })}
    />
  </>
);
