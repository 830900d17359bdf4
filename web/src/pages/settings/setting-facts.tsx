// An Authentication Setting for those who may only read it.
import type { ShownAuthSetting } from "../../../../src/model/auth-setting.ts";
import { Fact } from "../../parts/fact.tsx";
import { isMine } from "../../session.ts";
import { AUTH_TYPES, SWITCHES, TEXTS } from "../../auth-types.ts";
import { sharedWith } from "./settings-page.tsx";

export function SettingFacts({ setting }: { readonly setting: ShownAuthSetting }) {
  const { meta, access, keys, settings } = setting;
  const type = AUTH_TYPES[settings.auth_type];
  /** Null for a key that only reads. */
  const variables = settings.custom_variables as typeof settings.custom_variables | null;
  return (
    <section class="card">
      <h2>Setting</h2>
      <p class="muted">{type.effect}</p>
      <dl class="facts">
        <Fact name="Domain">
          <span class="mono">{meta.domain}</span>
        </Fact>
        <Fact name="Authentication type">{type.name}</Fact>
        <Fact name="Owner">{isMine(meta) ? "You" : meta.owner}</Fact>
        <Fact name="Shared with">{sharedWith(access)}</Fact>
        {type.clientId && (
          <Fact name={type.clientId}>{keys ? (keys.client_id ?? "–") : <Hidden />}</Fact>
        )}
        {type.clientSecret && (
          <Fact name={type.clientSecret}>
            <Hidden />
          </Fact>
        )}
        {type.texts.map((key) => (
          <Fact key={key} name={TEXTS[key]}>
            {settings[key] ?? "–"}
          </Fact>
        ))}
        {type.switches.map((key) => (
          <Fact key={key} name={SWITCHES[key]}>
            {settings[key] ? "Yes" : "No"}
          </Fact>
        ))}
        <Fact name="Custom variables">{variables ? namesOf(variables) : <Hidden />}</Fact>
        <Fact name="Client certificate">{settings.ssl_cert ? "Yes" : "None"}</Fact>
      </dl>
    </section>
  );
}

const namesOf = (variables: object): string =>
  Object.keys(variables)
    .map((name) => `{{${name}}}`)
    .join(", ") || "–";

const Hidden = () => <span class="muted">hidden</span>;
