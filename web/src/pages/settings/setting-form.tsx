// The form of an Authentication Setting.
import { useState } from "preact/hooks";
import type { ShownAuthSetting } from "../../../../src/model/auth-setting.ts";
import { send } from "../../api.ts";
import { useSending } from "../../form.ts";
import { CheckField, SelectField, TextField } from "../../parts/field.tsx";
import { Fault } from "../../parts/notice.tsx";
import { SecretField } from "../../parts/secret-field.tsx";
import { SecretRows } from "../../parts/secret-rows.tsx";
import { AUTH_TYPES, AUTH_TYPE_CHOICES } from "./auth-types.ts";
import { CredentialFields } from "./credential-fields.tsx";
import { bodyOf, draftOf, LINKS } from "./setting-draft.ts";
import type { PartProps, Sharing } from "./setting-draft.ts";

interface SettingFormProps {
  /** Undefined: a new one. */
  readonly stored: ShownAuthSetting | undefined;
  readonly onSaved: (saved: ShownAuthSetting) => unknown;
}

const SHOWN = ["meta", "keys.client_id", "keys.client_secret", "settings"];

export function SettingForm({ stored, onSaved }: SettingFormProps) {
  const [draft, setDraft] = useState(() => draftOf(stored));
  const { isBusy, submit, faultAt, faultBeside } = useSending(async () => {
    const body = bodyOf(draft, stored);
    const saved = await (stored
      ? send<ShownAuthSetting>("PUT", `auth/${stored.id}/`, { body })
      : send<ShownAuthSetting>("POST", "auth/", { body }));
    setDraft(draftOf(saved)); // without the secrets that were typed
    await onSaved(saved);
  });
  const change: PartProps["change"] = (changed) => setDraft({ ...draft, ...changed });
  const part: PartProps = { draft, stored, change, faultAt };
  return (
    <form class="stack" onSubmit={submit}>
      <AboutPart {...part} />
      <section class="card">
        <h2>Credentials</h2>
        <CredentialFields {...part} />
      </section>
      <section class="card">
        <h2>Custom variables</h2>
        <SecretRows
          title="Custom variables"
          one="variable"
          hint="A call uses one as {{name}} in its URL, parameters, headers and body. An environment variable of the same name comes first."
          rows={draft.variables}
          faultAt={() => faultAt("settings.custom_variables")}
          onChange={(variables) => change({ variables })}
        />
      </section>
      <CertificatePart {...part} />
      <SharingPart {...part} />
      <LinksPart {...part} />
      <Fault error={faultBeside(...SHOWN)} />
      <div class="row">
        <button class="button primary" type="submit" disabled={isBusy}>
          {stored ? "Save" : "Create the setting"}
        </button>
        {!stored && (
          <a class="button" href="settings">
            Cancel
          </a>
        )}
      </div>
    </form>
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
        hint="The only host that gets the credentials, with the hosts below it."
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
      <TextField
        label="Tags"
        hint="Separated by commas."
        value={draft.tags}
        fault={faultAt("meta.tags")}
        onInput={(tags) => change({ tags })}
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

const CertificatePart = ({ draft, stored, change, faultAt }: PartProps) => (
  <details class="card" open={draft.certificate !== "" || Boolean(stored?.settings.ssl_key)}>
    <summary>
      <h2>Client certificate</h2>
    </summary>
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
  </details>
);

const FLAGS: readonly (readonly [keyof Sharing, keyof Sharing, string])[] = [
  ["org_settings", "org_keys", "Your organization may read and use this setting"],
  ["settings", "keys", "Everybody with an API key may read and use this setting"],
];

const SharingPart = ({ draft: { access }, change }: PartProps) => (
  <section class="card">
    <h2>Sharing</h2>
    <p class="muted small">
      Readers of a shared setting also see its custom variables. Tokens are never shared.
    </p>
    {FLAGS.map(([flag, keys, label]) => (
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

const LINK_NAMES: Readonly<Record<(typeof LINKS)[number], string>> = {
  keys: "Page with developer keys",
  docs: "Documentation for developers",
  apps: "Page that creates an app",
  provider: "Home page of the provider",
};

const LinksPart = ({ draft: { documentation }, change, faultAt }: PartProps) => (
  <details class="card" open={LINKS.some((link) => documentation[link] !== "")}>
    <summary>
      <h2>Links</h2>
    </summary>
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
  </details>
);
