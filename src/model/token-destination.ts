// Where a token may be sent: to the domain and endpoint of the setting it was made for. A change of
// the setting redirects the token only if both have the same owner.
import { isOwner, ownerOf } from "./access.ts";
import type { Ownership } from "./access.ts";
import type { AuthSetting } from "./auth-setting.ts";
import { renewalFailureOf, unrenewedToken, withoutFailure } from "./token-renewal.ts";
import { ofSetting } from "./token.ts";
import type { Token } from "./token.ts";

/** A stored setting or token, whose document has the type of its kind. */
interface Stored extends Ownership {
  readonly document: unknown;
}

/**
 * Says why the token must not be sent: its setting belongs to another owner, who has changed the
 * domain or endpoint since the token's owner last wrote it.
 */
export function whyWithheld(token: Stored, setting: Stored): string | undefined {
  if (isOwner(ownerOf(token), setting)) return undefined;
  const held = token.document as Token;
  const moved = ofSetting(held, setting.document as AuthSetting);
  const changed = [
    ...(held.meta.domain === moved.meta.domain ? [] : ["meta.domain"]),
    ...(held.endpoint === moved.endpoint ? [] : ["settings.access_token_url"]),
  ];
  return changed.length === 0
    ? undefined
    : `the owner of the authentication setting changed ${changed.join(" and ")}: update the token to use it there`;
}

/** Returns the token after a change of its setting: the same object if it stays as it is. */
export function afterChange(token: Stored, before: Stored, after: Stored): Token {
  const held = token.document as Token;
  const moved = ofSetting(held, after.document as AuthSetting);
  const { domain, auth_type } = moved.meta;
  if (isOwner(ownerOf(token), after))
    return held.meta.domain === domain && held.meta.auth_type === auth_type ? held : moved;
  const kept =
    held.meta.auth_type === auth_type ? held : { ...held, meta: { ...held.meta, auth_type } };
  const reason = whyWithheld(token, after);
  if (reason !== undefined)
    return renewalFailureOf(kept) === reason ? kept : unrenewedToken(kept, reason);
  return whyWithheld(token, before) === undefined ? kept : withoutFailure(kept);
}

/** Returns the token as written by its owner: it may now go where the setting points. */
export function released(token: Stored, setting: Stored): Token {
  const moved = ofSetting(token.document as Token, setting.document as AuthSetting);
  return whyWithheld(token, setting) === undefined ? moved : withoutFailure(moved);
}
