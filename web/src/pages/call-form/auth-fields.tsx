// How a call authenticates: an Authentication Setting that fits its host, and one of its tokens.
import type { AuthSetting } from "../../../../src/model/auth-setting.ts";
import { isInDomain } from "../../../../src/model/authorization.ts";
import type { Token } from "../../../../src/model/token.ts";
import { send, ApiError } from "../../api.ts";
import { useAll } from "../../lists.ts";
import { SelectField } from "../../parts/field.tsx";
import { Fault } from "../../parts/notice.tsx";
import { invalidate } from "../../queries.ts";
import { newRow } from "../../rows.ts";
import { fixedHostOf } from "./call-draft.ts";
import type { CallDraft } from "./call-draft.ts";
import type { PartProps } from "./request-fields.tsx";

const NONE = { value: "", name: "None" };

/** The name of a setting that the list lacks. */
const LOST = "Deleted, or no longer shared with you";

export function AuthFields({ draft, onChange, faultAt }: PartProps) {
  const settings = useAll<AuthSetting>(["settings", "all"], "auth/");
  const host = fixedHostOf(draft.url);
  const all = settings.data;
  const fitting = (all ?? []).filter(
    ({ id, meta }) => id === draft.auth_id || isWithin(host, meta.domain),
  );
  const isLost = all && !all.some(({ id }) => id === draft.auth_id);
  const lost = isLost && draft.auth_id !== null ? [{ value: draft.auth_id, name: LOST }] : [];
  const choices = all
    ? fitting.map((one) => ({ value: one.id, name: nameOf(one, host) }))
    : unread(draft.auth_id, settings);
  return (
    <section class="card" aria-labelledby="authentication">
      <h2 id="authentication">Authentication</h2>
      <BasicNotice draft={draft} onChange={onChange} />
      <Fault error={settings.error} retry={settings.refetch} />
      <div class="fields">
        <SelectField
          label="Authentication setting"
          value={draft.auth_id ?? ""}
          choices={[NONE, ...lost, ...choices]}
          fault={faultAt("request.auth_id")}
          hint={
            host === undefined
              ? "Credentials are sent only to the setting's own domain."
              : `Settings whose domain covers ${host}.`
          }
          onChange={(id) => onChange({ auth_id: id || null, token_id: null })}
        />
        {draft.auth_id !== null && (
          <TokenField draft={draft} onChange={onChange} faultAt={faultAt} />
        )}
      </div>
    </section>
  );
}

/** Stands for the current choice until its name is known: readers must not take it for none. */
const unread = (id: string | null, { error }: { readonly error: Error | null }) =>
  id === null ? [] : [{ value: id, name: error ? "Not known" : "Loading …" }];

/** True for a host that is not known yet: it may be any. */
const isWithin = (host: string | undefined, domain: string): boolean =>
  host === undefined || isInDomain(host, domain);

const nameOf = ({ meta, settings }: AuthSetting, host: string | undefined): string =>
  `${meta.name} (${settings.auth_type}, ${meta.domain})${isWithin(host, meta.domain) ? "" : ": not for this host"}`;

function TokenField({ draft, onChange, faultAt }: PartProps) {
  const id = draft.auth_id ?? "";
  const tokens = useAll<Token>(
    ["tokens", "auth", id, "all"],
    `tokens/auth/${encodeURIComponent(id)}/`,
  );
  const choices =
    tokens.data?.map((token) => ({ value: token.id, name: token.meta.name })) ??
    unread(draft.token_id, tokens);
  return (
    <>
      <SelectField
        label="Token"
        value={draft.token_id ?? ""}
        choices={[NONE, ...choices]}
        fault={faultAt("request.token_id")}
        hint={tokens.data?.length === 0 ? "You have no token for this setting." : undefined}
        onChange={(token_id) => onChange({ token_id: token_id || null })}
      />
      <Fault error={tokens.error} retry={tokens.refetch} />
    </>
  );
}

/** Explains how the user and the password of a cURL command are saved. */
function BasicNotice({ draft, onChange }: Pick<PartProps, "draft" | "onChange">) {
  const { basic } = draft;
  if (!basic) return null;
  const asHeader = (): void =>
    onChange({
      basic: null,
      headers: [
        ...draft.headers,
        newRow("Authorization", `Basic ${base64(`${basic.user}:${basic.password}`)}`),
      ],
    });
  return (
    <div class="notice">
      <p>
        The command signs in as <strong>{basic.user}</strong>. Saving creates an authentication
        setting of type BASIC for <strong>{fixedHostOf(draft.url) ?? "the host"}</strong>, which
        keeps the password encrypted.
      </p>
      <div class="row">
        <button class="button" type="button" onClick={asHeader}>
          Send a header instead
        </button>
        <button class="button" type="button" onClick={() => onChange({ basic: null })}>
          Leave it out
        </button>
      </div>
    </div>
  );
}

/** Encodes the text as UTF-8 first. */
const base64 = (text: string): string =>
  btoa(String.fromCharCode(...new TextEncoder().encode(text)));

/** Creates a setting for the credentials of a cURL command; resolves to what names it. */
export async function withSetting(draft: CallDraft): Promise<Partial<CallDraft>> {
  const { basic } = draft;
  if (!basic) return {};
  const domain = fixedHostOf(draft.url) ?? "";
  const body = {
    meta: { name: `${domain} as ${basic.user}`.slice(0, 200), domain },
    settings: { auth_type: "BASIC" },
    keys: { client_id: basic.user, client_secret: basic.password },
  };
  try {
    const { id } = await send<AuthSetting>("POST", "auth/", { body });
    await invalidate(["settings"]);
    return { basic: null, auth_id: id, token_id: null };
  } catch (cause) {
    const { status, message } = cause as ApiError;
    throw new ApiError(status, `The authentication setting could not be created. ${message}`);
  }
}
