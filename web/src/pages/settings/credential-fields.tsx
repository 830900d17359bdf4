// The fields of an authentication type.
import { CheckField, SelectField, TextField } from "../../parts/field.tsx";
import { SecretField } from "../../parts/secret-field.tsx";
import { AUTH_TYPES, EMPTY_MEANS, SWITCHES, TEXTS } from "../../auth-types.ts";
import type { AuthType } from "../../auth-types.ts";
import type { PartProps } from "./setting-draft.ts";

const PEM_LINES = 6;

export const CredentialFields = (props: PartProps) => (
  <>
    {WITHOUT_FIELDS[props.draft.authType] && <p>{WITHOUT_FIELDS[props.draft.authType]}</p>}
    <KeyFields {...props} />
    <OptionFields {...props} />
  </>
);

function KeyFields({ draft, stored, change, faultAt }: PartProps) {
  const { clientId, clientSecret, isPem } = AUTH_TYPES[draft.authType];
  return (
    <div class="fields">
      {clientId && (
        <TextField
          label={clientId}
          value={draft.clientId}
          fault={faultAt("keys.client_id")}
          onInput={(text) => change({ clientId: text })}
        />
      )}
      {clientSecret && (
        <SecretField
          label={clientSecret}
          isStored={Boolean(stored?.keys?.client_secret)}
          value={draft.clientSecret}
          {...(isPem && { lines: PEM_LINES })}
          fault={faultAt("keys.client_secret")}
          onChange={(secret) => change({ clientSecret: secret })}
        />
      )}
    </div>
  );
}

function OptionFields({ draft, change, faultAt }: PartProps) {
  const { texts, switches, choice } = AUTH_TYPES[draft.authType];
  return (
    <>
      <div class="fields">
        {texts.map((key) => (
          <TextField
            key={key}
            label={TEXTS[key]}
            hint={EMPTY_MEANS[key]}
            value={draft.texts[key]}
            fault={faultAt(`settings.${key}`)}
            onInput={(text) => change({ texts: { ...draft.texts, [key]: text } })}
          />
        ))}
        {choice === "signature_method" && (
          <SelectField
            label="Signature method"
            value={draft.signatureMethod}
            choices={SIGNATURES}
            onChange={(signatureMethod) => change({ signatureMethod })}
          />
        )}
        {choice === "get_token_method" && (
          <SelectField
            label="Method of token requests"
            value={draft.tokenMethod}
            choices={METHODS}
            onChange={(tokenMethod) => change({ tokenMethod })}
          />
        )}
      </div>
      {switches.map((key) => (
        <CheckField
          key={key}
          label={SWITCHES[key]}
          value={draft.switches[key]}
          onChange={(isOn) => change({ switches: { ...draft.switches, [key]: isOn } })}
        />
      ))}
    </>
  );
}

const WITHOUT_FIELDS: Readonly<Partial<Record<AuthType, string>>> = {
  NONE: "This type has no credentials.",
  MANUAL: "The headers and parameters are in the tokens of this setting: add one once it is saved.",
};

const SIGNATURES = (["HMAC-SHA1", "HMAC-SHA256", "PLAINTEXT"] as const).map((value) => ({
  value,
  name: value,
}));

const METHODS = (["POST", "GET"] as const).map((value) => ({ value, name: value }));
