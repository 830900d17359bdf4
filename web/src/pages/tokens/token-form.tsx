// The form of a token, in a dialog.
import type { ShownAuthSetting } from "../../../../src/model/auth-setting.ts";
import type { Versioned } from "../../api.ts";
import { useEditing } from "../../editing.ts";
import { leaving } from "../../history-guard.ts";
import { announce } from "../../announcement.tsx";
import { ConflictDialog } from "../../parts/conflict-dialog.tsx";
import { Dialog, DialogButtons, FaultDialog, LoadingDialog } from "../../parts/dialog.tsx";
import { SelectField, TextField } from "../../parts/field.tsx";
import { LeaveGuard } from "../../parts/leave-guard.tsx";
import { Fault } from "../../parts/notice.tsx";
import { SecretField } from "../../parts/secret-field.tsx";
import { SecretRows } from "../../parts/secret-rows.tsx";
import { useVersioned } from "../../queries.ts";
import { AUTH_TYPES } from "../../auth-types.ts";
import type { AuthType } from "../../auth-types.ts";
import { bodyOf, draftOf, GRANTS, SECRETS, secretsOf } from "./token-draft.ts";
import type { Grant, TokenDraft } from "./token-draft.ts";
import type { ShownToken } from "./token-state.ts";

interface TokenFormProps {
  /** Undefined: a new one. */
  readonly stored: ShownToken | undefined;
  readonly settings: readonly ShownAuthSetting[];
  /** The initial setting of a new token. */
  readonly authId: string;
  readonly onSaved: () => unknown;
  readonly onClose: () => void;
}

interface PartProps {
  readonly draft: TokenDraft;
  readonly type: AuthType | undefined;
  readonly stored: ShownToken | undefined;
  readonly change: (changed: Partial<TokenDraft>) => void;
  readonly faultAt: (path: string) => string | undefined;
}

/** Reads a stored token again, with its version: the list may be older. */
export function TokenForm({ stored, ...props }: TokenFormProps) {
  const { data, error, refetch } = useVersioned<ShownToken>(
    ["tokens", "stored", stored?.id],
    stored && `tokens/${encodeURIComponent(stored.id)}/`,
  );
  const title = stored ? `Token "${stored.meta.name}"` : "New token";
  if (!stored || data) return <Fields title={title} stored={data} {...props} />;
  return error ? (
    <FaultDialog title={title} error={error} retry={refetch} onClose={props.onClose} />
  ) : (
    <LoadingDialog title={title} what="the token" onClose={props.onClose} />
  );
}

interface FieldsProps extends Omit<TokenFormProps, "stored"> {
  readonly title: string;
  readonly stored: Versioned<ShownToken> | undefined;
}

function Fields({ title, stored, settings, authId, onSaved, onClose }: FieldsProps) {
  const typeOf = (draft: TokenDraft, token?: ShownToken): AuthType | undefined =>
    settings.find(({ id }) => id === draft.authId)?.settings.auth_type ?? token?.meta.auth_type;
  const editing = useEditing<ShownToken, TokenDraft>({
    path: "tokens/",
    stored,
    draftOf: (token) => draftOf(token, authId),
    bodyOf: (draft, token) => bodyOf(draft, typeOf(draft, token), token),
    onSaved: async ({ object }) => {
      announce(stored ? "Saved" : `Created the token "${object.meta.name}"`);
      onClose();
      await onSaved();
    },
    onReloaded: onSaved,
  });
  const { draft, change, object, isChanged, round, sending, conflict } = editing;
  const { isBusy, submit, faultAt, faultBeside } = sending;
  const close = (): void => (isChanged ? leaving(onClose) : onClose());
  return (
    <Dialog title={title} onClose={close}>
      <form class="stack" onSubmit={submit}>
        <LeaveGuard isChanged={isChanged} />
        <Parts
          key={round}
          {...{ draft, stored: object, change, faultAt, settings, type: typeOf(draft, object) }}
        />
        <Fault error={faultBeside("meta.name", "meta.auth_id", "token")} />
        <DialogButtons verb={object ? "Save" : "Create"} isBusy={isBusy} onCancel={close} />
        <ConflictDialog what="token" conflict={conflict} />
      </form>
    </Dialog>
  );
}

function Parts({ settings, ...part }: PartProps & Pick<TokenFormProps, "settings">) {
  const { draft, type, stored, change, faultAt } = part;
  return (
    <>
      <TextField
        label="Name"
        value={draft.name}
        fault={faultAt("meta.name")}
        input={{ required: true }}
        onInput={(name) => change({ name })}
      />
      {!stored && (
        <SelectField
          label="Authentication setting"
          value={draft.authId}
          fault={faultAt("meta.auth_id")}
          choices={settings.map(({ id, meta }) => ({
            value: id,
            name: `${meta.name} (${meta.domain})`,
          }))}
          onChange={(id) => change({ authId: id })}
        />
      )}
      {type && <p class="muted">{AUTH_TYPES[type].effect}</p>}
      {type === "MANUAL" ? <PairParts {...part} /> : <CredentialPart {...part} />}
      {type !== "BASIC" && type !== "NONE" && (
        <TextField
          label="Expires at"
          hint="ISO 8601, such as 2027-01-31T12:00:00Z. Empty if it does not expire. Calls are not made with an expired token."
          value={draft.expireTime}
          fault={faultAt("token.expire_time")}
          onInput={(expireTime) => change({ expireTime })}
        />
      )}
    </>
  );
}

const GRANT_NAMES: Readonly<Record<Grant, string>> = {
  "": "Entered here, and not renewed",
  client_credentials: "Obtained with the client id and secret (client_credentials)",
  refresh_token: "Obtained with a refresh token (refresh_token)",
  password: "Obtained with a user name and password (password)",
};

const GRANT_CHOICES = GRANTS.map((value) => ({ value, name: GRANT_NAMES[value] }));

function CredentialPart({ draft, type, stored, change, faultAt }: PartProps) {
  const { grant, secrets } = draft;
  const keys = secretsOf(type, grant);
  if (keys.length === 0) return <p>A token adds nothing to calls with this type of setting.</p>;
  return (
    <>
      {type === "OAUTH2" && (
        <SelectField
          label="Where it comes from"
          value={grant}
          fault={faultAt("token.grant_type")}
          choices={GRANT_CHOICES}
          onChange={(chosen) => change({ grant: chosen })}
        />
      )}
      {type === "OAUTH2" && grant === "password" && (
        <TextField
          label="User name"
          value={draft.username}
          fault={faultAt("token.username")}
          onInput={(username) => change({ username })}
        />
      )}
      {keys.map((key) => (
        <SecretField
          key={key}
          label={SECRETS[key]}
          {...(key === "access_token" && isObtained(type, grant) && { hint: OBTAINED })}
          isStored={Boolean(stored?.token[key])}
          isClearable={key !== "access_token"}
          value={secrets[key]}
          fault={faultAt(`token.${key}`)}
          onChange={(value) => change({ secrets: { ...secrets, [key]: value } })}
        />
      ))}
    </>
  );
}

const OBTAINED =
  "Leave empty: Sonde obtains it at the setting's token URL, and renews it before it expires.";

const isObtained = (type: AuthType | undefined, grant: Grant): boolean =>
  type === "OAUTH2_JWT" || (type === "OAUTH2" && grant !== "");

const PairParts = ({ draft, change, faultAt }: PartProps) => (
  <>
    <h3>Headers</h3>
    <SecretRows
      title="Headers"
      noun="header"
      hint="Variables such as {{name}} are filled in."
      isRenamable
      rows={draft.headers}
      faultAt={(index) => faultAt(`token.headers[${index}]`)}
      fault={faultAt("token.headers")}
      onChange={(headers) => change({ headers })}
    />
    <h3>Parameters</h3>
    <SecretRows
      title="Parameters"
      noun="parameter"
      isRenamable
      rows={draft.parameters}
      faultAt={(index) => faultAt(`token.parameters[${index}]`)}
      fault={faultAt("token.parameters")}
      onChange={(parameters) => change({ parameters })}
    />
  </>
);
