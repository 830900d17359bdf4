// An Authentication Setting as its form edits it, and the body that saves it.
import type { AuthSetting, ShownAuthSetting } from "../../../../src/model/auth-setting.ts";
import { changeOf } from "../../parts/secret-field.tsx";
import type { NewSecret } from "../../parts/secret-field.tsx";
import { changedNames, storedRows } from "../../parts/secret-rows.tsx";
import type { SecretRow } from "../../parts/secret-rows.tsx";
import { AUTH_TYPES, SWITCH_KEYS, TEXT_KEYS } from "../../auth-types.ts";
import type { AuthType, SwitchKey, TextKey } from "../../auth-types.ts";

export type Sharing = AuthSetting["access"];
export type Documentation = Readonly<Record<keyof AuthSetting["meta"]["documentation"], string>>;
export type SignatureMethod = Exclude<
  AuthSetting["settings"]["signature_method"],
  "" | null | undefined
>;

export interface SettingDraft {
  readonly name: string;
  readonly domain: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly documentation: Documentation;
  readonly authType: AuthType;
  readonly clientId: string;
  readonly clientSecret: NewSecret;
  readonly texts: Readonly<Record<TextKey, string>>;
  readonly switches: Readonly<Record<SwitchKey, boolean>>;
  readonly signatureMethod: SignatureMethod;
  readonly tokenMethod: "GET" | "POST";
  readonly variables: readonly SecretRow[];
  readonly certificate: string;
  readonly certificateKey: NewSecret;
  readonly access: Sharing;
}

/** The props of every part of the form. */
export interface PartProps {
  readonly draft: SettingDraft;
  readonly stored: ShownAuthSetting | undefined;
  readonly change: (changed: Partial<SettingDraft>) => void;
  readonly faultAt: (path: string) => string | undefined;
}

const byKey = <K extends string, V>(keys: readonly K[], value: (key: K) => V) =>
  Object.fromEntries(keys.map((key) => [key, value(key)])) as Record<K, V>;

/** Leaves out secrets. `stored` is undefined for a new setting. */
export function draftOf(stored?: ShownAuthSetting): SettingDraft {
  const { meta, access, keys, settings } = stored ?? {};
  const { documentation } = meta ?? {};
  const method = settings?.get_token_method;
  return {
    name: meta?.name ?? "",
    domain: meta?.domain ?? "",
    description: meta?.description ?? "",
    tags: meta?.tags ?? [],
    documentation: byKey(LINKS, (link) => documentation?.[link] ?? ""),
    authType: settings?.auth_type ?? "OAUTH2",
    clientId: keys?.client_id ?? "",
    clientSecret: undefined,
    texts: byKey(TEXT_KEYS, (key) => settings?.[key] ?? ""),
    switches: byKey(SWITCH_KEYS, (key) => settings?.[key] ?? false),
    signatureMethod: settings?.signature_method || "HMAC-SHA1",
    tokenMethod: method === "GET" || method === true ? "GET" : "POST",
    variables: storedRows(
      Object.entries(settings?.custom_variables ?? {}).map(([key, value]) => ({ key, value })),
    ),
    certificate: settings?.ssl_cert ?? "",
    certificateKey: undefined,
    access: access ?? { settings: false, keys: false, org_settings: false, org_keys: false },
  };
}

export const LINKS = ["keys", "docs", "apps", "provider"] as const;

/** The API requires the domain in every change of a setting. */
export const withDomain = (changes: { readonly meta?: object }, current: ShownAuthSetting) => ({
  ...changes,
  meta: { domain: current.meta.domain, ...changes.meta },
});

const orNull = (text: string): string | null => (text.trim() === "" ? null : text.trim());

/** Includes only the keys that the type takes; other stored keys stay as they are. */
export function bodyOf(draft: SettingDraft, stored?: ShownAuthSetting): object {
  const type = AUTH_TYPES[draft.authType];
  const before = Object.keys(stored?.settings.custom_variables ?? {});
  return {
    meta: {
      name: draft.name.trim(),
      domain: draft.domain.trim(),
      description: orNull(draft.description),
      tags: draft.tags,
      documentation: byKey(LINKS, (link) => orNull(draft.documentation[link])),
    },
    access: draft.access,
    keys: {
      ...(type.clientId && { client_id: draft.clientId === "" ? null : draft.clientId }),
      ...(type.clientSecret && changeOf("client_secret", draft.clientSecret)),
    },
    settings: {
      auth_type: draft.authType,
      ...byKey(type.texts, (key) => orNull(draft.texts[key])),
      ...byKey(type.switches, (key) => draft.switches[key]),
      ...(type.choice === "signature_method" && { signature_method: draft.signatureMethod }),
      ...(type.choice === "get_token_method" && { get_token_method: draft.tokenMethod }),
      custom_variables: changedNames(before, draft.variables),
      ssl_cert: orNull(draft.certificate),
      ...changeOf("ssl_key", draft.certificateKey),
    },
  };
}
