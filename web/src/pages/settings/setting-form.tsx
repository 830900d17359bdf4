// The form of an Authentication Setting.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { ShownAuthSetting } from "../../../../src/model/auth-setting.ts";
import type { Versioned } from "../../api.ts";
import { useEditing } from "../../editing.ts";
import { ConflictDialog } from "../../parts/conflict-dialog.tsx";
import { CheckField, SelectField, TextField } from "../../parts/field.tsx";
import { LeaveGuard } from "../../parts/leave-guard.tsx";
import { Fault } from "../../parts/notice.tsx";
import { SecretField } from "../../parts/secret-field.tsx";
import { SecretRows } from "../../parts/secret-rows.tsx";
import { TagsField } from "../../parts/tags-field.tsx";
import { invalidate } from "../../queries.ts";
import { assertDistinct } from "../../rows.ts";
import { useOrganizationOffer } from "../../session.ts";
import { AUTH_TYPES, AUTH_TYPE_CHOICES } from "../../auth-types.ts";
import { CredentialFields } from "./credential-fields.tsx";
import { bodyOf, draftOf, LINKS, withDomain } from "./setting-draft.ts";
import type { PartProps, SettingDraft, Sharing } from "./setting-draft.ts";

interface SettingFormProps {
  /** Undefined: a new one. */
  readonly stored: Versioned<ShownAuthSetting> | undefined;
  readonly onSaved: (saved: ShownAuthSetting) => unknown;
}

const SHOWN = ["meta", "keys.client_id", "keys.client_secret", "settings"];

export function SettingForm({ stored, onSaved }: SettingFormProps) {
  const editing = useEditing<ShownAuthSetting, SettingDraft>({
    path: "auth/",
    stored,
    draftOf,
    bodyOf,
    required: ["meta.name", "meta.domain"],
    completed: withDomain,
    prepare: async ({ variables }) => {
      const names = variables.map(({ name }) => name);
      assertDistinct(names, "settings.custom_variables");
      return {};
    },
    onSaved: ({ object }) => onSaved(object),
    onReloaded: () => invalidate(["settings"]),
  });
  const { draft, change, object, isChanged, round, sending, conflict } = editing;
  const { isBusy, submit, faultAt, faultBeside } = sending;
  const part: PartProps = { draft, stored: object, change, faultAt };
  return (
    <form class="stack" onSubmit={submit}>
      <LeaveGuard isChanged={isChanged} />
      <Parts key={round} {...part} />
      <Fault error={faultBeside(...SHOWN)} />
      <div class="row">
        <button class="button primary" type="submit" disabled={isBusy}>
          {object ? "Save" : "Create the setting"}
        </button>
        {!stored && (
          <a class="button" href="settings">
            Cancel
          </a>
        )}
      </div>
      <ConflictDialog what="setting" conflict={conflict} />
    </form>
  );
}

function Parts(part: PartProps) {
  const { draft, change, faultAt } = part;
  return (
    <>
      <AboutPart {...part} />
      <section class="card">
        <h2>Credentials</h2>
        <CredentialFields {...part} />
      </section>
      <section class="card">
        <h2>Custom variables</h2>
        <SecretRows
          title="Custom variables"
          noun="variable"
          hint="A call uses one as {{name}} in its URL, parameters, headers and body. An environment variable of the same name comes first."
          rows={draft.variables}
          faultAt={(index) =>
            faultAt(`settings.custom_variables.${draft.variables[index]?.name ?? ""}`)
          }
          fault={faultAt("settings.custom_variables")}
          onChange={(variables) => change({ variables })}
        />
      </section>
      <CertificatePart {...part} />
      <SharingPart {...part} />
      <LinksPart {...part} />
    </>
  );
}

const AboutPart = ({ draft, change, faultAt }: PartProps) => (
  <section class="card">
    <h2>Setting</h2>
    <div class="fields">
      <TextField
        label="Name"
        value={draft.name}
        fault={faultAt("meta.name")}
        input={{ required: true }}
        onInput={(name) => change({ name })}
      />
      <TextField
        label="Domain"
        hint="Only this host and its subdomains get the credentials."
        value={draft.domain}
        fault={faultAt("meta.domain")}
        input={{ required: true, placeholder: "api.example.com" }}
        onInput={(domain) => change({ domain })}
      />
      <SelectField
        label="Authentication type"
        hint={AUTH_TYPES[draft.authType].effect}
        value={draft.authType}
        fault={faultAt("settings.auth_type")}
        choices={AUTH_TYPE_CHOICES}
        onChange={(authType) => change({ authType })}
      />
      <TagsField
        tags={draft.tags}
        fault={faultAt("meta.tags")}
        onChange={(tags) => change({ tags })}
      />
    </div>
    <TextField
      label="Description"
      value={draft.description}
      fault={faultAt("meta.description")}
      onInput={(description) => change({ description })}
    />
  </section>
);

/** Open at first if it is filled; later as the reader leaves it, also when it is emptied. */
function Folded({
  title,
  isFilled,
  children,
}: {
  readonly title: string;
  readonly isFilled: boolean;
  readonly children: ComponentChildren;
}) {
  const [isOpen] = useState(isFilled);
  return (
    <details class="card" open={isOpen}>
      <summary>
        <h2>{title}</h2>
      </summary>
      {children}
    </details>
  );
}

const CertificatePart = ({ draft, stored, change, faultAt }: PartProps) => (
  <Folded
    title="Client certificate"
    isFilled={draft.certificate !== "" || Boolean(stored?.settings.ssl_key)}
  >
    <TextField
      label="Certificate (ssl_cert)"
      hint="In PEM, without the private key. Readers of a shared setting see it."
      lines={5}
      value={draft.certificate}
      fault={faultAt("settings.ssl_cert")}
      onInput={(certificate) => change({ certificate })}
    />
    <SecretField
      label="Private key (ssl_key)"
      hint="In PEM."
      lines={5}
      isStored={Boolean(stored?.settings.ssl_key)}
      value={draft.certificateKey}
      fault={faultAt("settings.ssl_key")}
      onChange={(certificateKey) => change({ certificateKey })}
    />
  </Folded>
);

const FLAGS: readonly (readonly [keyof Sharing, keyof Sharing, string])[] = [
  ["org_settings", "org_keys", "Your organization may read and use this setting"],
  ["settings", "keys", "Everyone with an API key may read and use this setting"],
];

function SharingPart({ draft: { access }, change }: PartProps) {
  const offersOrganization = useOrganizationOffer(access.org_settings);
  const offered = FLAGS.filter(([flag]) => flag !== "org_settings" || offersOrganization);
  return (
    <section class="card">
      <h2>Sharing</h2>
      <p class="muted small">
        Readers of a shared setting also see its custom variables. Tokens are never shared.
      </p>
      {offered.map(([flag, keys, label]) => (
        <div key={flag} class="stack">
          <CheckField
            label={label}
            value={access[flag]}
            onChange={(isOn) => change({ access: { ...access, [flag]: isOn } })}
          />
          {access[flag] && (
            <div class="indented">
              <CheckField
                label="… with its client id and secret"
                value={access[keys]}
                onChange={(isOn) => change({ access: { ...access, [keys]: isOn } })}
              />
            </div>
          )}
        </div>
      ))}
    </section>
  );
}

const LINK_NAMES: Readonly<Record<(typeof LINKS)[number], string>> = {
  keys: "Page with developer keys",
  docs: "Documentation for developers",
  apps: "Page that creates an app",
  provider: "Home page of the provider",
};

const LinksPart = ({ draft: { documentation }, change, faultAt }: PartProps) => (
  <Folded title="Links" isFilled={LINKS.some((link) => documentation[link] !== "")}>
    <div class="fields">
      {LINKS.map((link) => (
        <TextField
          key={link}
          label={LINK_NAMES[link]}
          value={documentation[link]}
          fault={faultAt(`meta.documentation.${link}`)}
          onInput={(text) => change({ documentation: { ...documentation, [link]: text } })}
        />
      ))}
    </div>
  </Folded>
);
