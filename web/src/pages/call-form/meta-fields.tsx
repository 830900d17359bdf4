// The name of a call, its tags, and who sees it.
import type { EffectiveTag } from "../../../../src/model/behaviour.ts";
import { announce } from "../../announcement.tsx";
import { CheckField, TextField } from "../../parts/field.tsx";
import { TagsField } from "../../parts/tags-field.tsx";
import { useOrganizationOffer } from "../../session.ts";
import type { PartProps } from "./request-fields.tsx";

export const NameFields = ({ draft, onChange, faultAt }: PartProps) => (
  <section class="card" aria-labelledby="about">
    <h2 id="about">About</h2>
    <TextField
      label="Name"
      value={draft.name}
      fault={faultAt("meta.name")}
      onInput={(name) => onChange({ name })}
    />
    <TextField
      label="Description"
      lines={2}
      value={draft.description ?? ""}
      fault={faultAt("meta.description")}
      onInput={(text) => onChange({ description: text === "" ? null : text })}
    />
    <TagsField
      tags={draft.tags}
      fault={faultAt("meta.tags")}
      onChange={(tags) => onChange({ tags })}
    />
    <BehaviourTags
      onAdd={(tag) => {
        if (draft.tags.includes(tag)) return;
        onChange({ tags: [...draft.tags, tag] });
        announce(`Added the tag ${tag}`);
      }}
    />
  </section>
);

/** An example of each tag, and its effect. */
const EFFECTS: Readonly<Record<EffectiveTag, readonly [example: string, effect: string]>> = {
  timeout: ["timeout:10", "ends the call after 10 seconds (default 30, maximum 120)"],
  noredirect: ["noredirect", "follows no redirects: the 3xx is the result"],
  "max-redirects": ["max-redirects:3", "follows at most 3 redirects (default 10, maximum 50)"],
  "insecure-tls": ["insecure-tls", "accepts any certificate, even expired or for another host"],
  nometrics: ["nometrics", "keeps the call's own numbers out of /metrics"],
};

const BehaviourTags = ({ onAdd }: { readonly onAdd: (tag: string) => void }) => (
  <details>
    <summary>Tags with an effect on the call</summary>
    <dl class="behaviour">
      {Object.values(EFFECTS).map(([tag, effect]) => (
        <div key={tag}>
          <dt>
            <button class="link mono" type="button" onClick={() => onAdd(tag)}>
              <span class="visually-hidden">Add the tag </span>
              {tag}
            </button>
          </dt>
          <dd>{effect}</dd>
        </div>
      ))}
    </dl>
  </details>
);

const ACCESS = [
  ["org", "Your organization sees the call, its results and statistics, and may run and deploy it"],
  ["settings", "Everyone with a key sees the call"],
  ["results", "Everyone with a key sees its results"],
  ["stats", "Everyone with a key sees its statistics and insights"],
] as const;

export function AccessFields({ draft, onChange }: PartProps) {
  const { access } = draft;
  const offersOrganization = useOrganizationOffer(access.org);
  const offered = ACCESS.filter(([flag]) => flag !== "org" || offersOrganization);
  return (
    <section class="card" aria-labelledby="sharing">
      <h2 id="sharing">Sharing</h2>
      {offered.map(([flag, label]) => (
        <CheckField
          key={flag}
          label={label}
          value={access[flag]}
          onChange={(value) => onChange({ access: { ...access, [flag]: value } })}
        />
      ))}
    </section>
  );
}
