// Adds the currently stored credentials of their calls to ticks.
import { canRead, hasNoKey, identityOf, isColleague, isOwner, ownerOf } from "../model/access.ts";
import { shownAuthSetting } from "../model/auth-setting.ts";
import type { AuthSetting } from "../model/auth-setting.ts";
import type { Authorization, TickToken } from "../model/authorization.ts";
import type { Call } from "../model/call.ts";
import { parseInstant } from "../model/instant.ts";
import { cannotBeDecrypted } from "../model/secrets.ts";
import type { TickCall } from "../model/tick.ts";
import { whyWithheld } from "../model/token-destination.ts";
import { isRenewable, renewalFailureOf } from "../model/token-renewal.ts";
import type { Token } from "../model/token.ts";
import { isFixed } from "../model/url.ts";
import { environmentNames } from "../model/variables.ts";
import type { Documents, StoredDocument } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import type { Ordered } from "./environment.ts";

interface Users {
  /** The stored calls of the ticks. */
  readonly calls: Documents;
  /** The identities among their owners that have an active key: only their credentials are sent. */
  readonly withKey: ReadonlySet<string>;
}

interface Credentials extends Users {
  readonly settings: Documents;
  readonly tokens: Documents;
}

/** The ticks of a call share its credentials. */
export async function withCredentials(
  store: Store,
  ordered: readonly Ordered[],
  users: Users,
): Promise<Ordered[]> {
  const requests = [...users.calls.values()].map(requestOf);
  const authIds = requests.flatMap(({ auth_id }) => auth_id ?? []);
  const tokenIds = requests.flatMap(({ token_id }) => token_id ?? []);
  const credentials: Credentials = {
    ...users,
    settings: await store.documents.getMany("auth_setting", authIds),
    tokens: await store.documents.getMany("token", tokenIds),
  };
  const authorizations = new Map(
    [...users.calls.values()]
      .filter((call) => requestOf(call).auth_id !== null)
      .map((call) => [call.id, authorizationOf(call, credentials)]),
  );
  const authorize = (call: TickCall): TickCall =>
    authorizedCall(call, authorizations.get(call.call_id));
  return ordered.map(({ tick, run }) => ({
    tick: { ...tick, calls: tick.calls.map(authorize) },
    run,
  }));
}

const requestOf = ({ document }: StoredDocument) => (document as Call).request;

function authorizedCall(
  call: TickCall,
  authorization: Authorization | string | undefined,
): TickCall {
  if (authorization === undefined || call.unable !== undefined) return call;
  return typeof authorization === "string"
    ? { ...call, unable: authorization }
    : { ...call, authorization };
}

/** Returns what the call's owner may use, whoever runs it, or why the call cannot be made. */
function authorizationOf(
  call: StoredDocument,
  { settings, tokens, withKey }: Credentials,
): Authorization | string {
  if (!withKey.has(identityOf(call))) return hasNoKey("the call's owner", call);
  const { auth_id, token_id } = requestOf(call);
  const setting = settings.get(auth_id ?? "");
  const user = ownerOf(call);
  if (!setting || !canRead(user, setting))
    return "the authentication setting was deleted, or the call's owner may no longer use it";
  const token = tokens.get(token_id ?? "");
  if (token_id !== null && !isUsable(token, call))
    return "the token was deleted, or belongs to another owner or setting";
  if (setting.unreadable) return cannotBeDecrypted("the authentication setting");
  if (token?.unreadable) return cannotBeDecrypted("the token");
  const document = setting.document as AuthSetting;
  const { meta, settings: known, keys } = shownAuthSetting(document, user, setting);
  if (!keys && NEEDS_KEYS.has(known.auth_type))
    return "the owner of the authentication setting does not share its keys";
  if (known.ssl_cert && document.settings.ssl_key && !known.ssl_key)
    return "only the owner of the authentication setting may use its client certificate";
  return {
    auth_type: known.auth_type,
    domain: meta.domain,
    settings: isFamiliar(setting, call) ? known : withoutHosts(known, requestOf(call).url),
    keys: keys ?? {},
    token: token ? tokenFor(token, setting, keys ? document : undefined) : null,
  };
}

/** The others use them at most to renew a token, or as variables. */
const NEEDS_KEYS = new Set(["BASIC", "OAUTH1", "OAUTH2_JWS", "AMAZON"]);

const isFamiliar = (setting: StoredDocument, call: StoredDocument): boolean =>
  isOwner(ownerOf(call), setting) || isColleague(ownerOf(call), setting);

/** A stranger's variables must not choose the host that receives everything else in the request. */
function withoutHosts(settings: AuthSetting["settings"], url: string): AuthSetting["settings"] {
  if (isFixed(url)) return settings;
  const refused = new Set(environmentNames([url]));
  const variables = Object.entries(settings.custom_variables ?? {});
  const kept = variables.filter(([name]) => !refused.has(name));
  return { ...settings, custom_variables: Object.fromEntries(kept) };
}

function isUsable(token: StoredDocument | undefined, call: StoredDocument): boolean {
  return (
    token !== undefined &&
    isOwner(ownerOf(call), token) &&
    (token.document as Token).meta.auth_id === requestOf(call).auth_id
  );
}

function tokenFor(
  token: StoredDocument,
  setting: StoredDocument,
  renewing: AuthSetting | undefined,
): TickToken {
  const withheld = whyWithheld(token, setting);
  const document = token.document as Token;
  return withheld === undefined
    ? tickToken(document, renewing)
    : { name: document.meta.name, expires_at: null, withheld };
}

/** `setting`: given if its keys may be used to renew the token. */
function tickToken(stored: Token, setting: AuthSetting | undefined): TickToken {
  const { meta, token } = stored;
  const renewal_failure = renewalFailureOf(stored);
  const { access_token, token_secret, headers, parameters } = token;
  return {
    name: meta.name,
    expires_at: parseInstant(token.expire_time ?? "") ?? null,
    ...(setting && isRenewable(setting, stored) && { is_renewed: true }),
    ...(renewal_failure !== null && { renewal_failure }),
    ...(access_token !== undefined && { access_token }),
    ...(token_secret !== undefined && { token_secret }),
    ...(headers && { headers }),
    ...(parameters && { parameters }),
  };
}
