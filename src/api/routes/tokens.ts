// Tokens. Only their owner sees them, whatever their setting shares.
import { canRead, ownedBy } from "../../model/access.ts";
import type { AuthSetting } from "../../model/auth-setting.ts";
import { invalid } from "../../model/errors.ts";
import { isRenewable, withoutFailure, withRenewal } from "../../model/token-renewal.ts";
import { released } from "../../model/token-destination.ts";
import { ofSetting, tokenResource } from "../../model/token.ts";
import type { Token } from "../../model/token.ts";
import { show } from "../../model/validate.ts";
import { filteredList, getEndpoint, listEndpoint, writeEndpoints } from "../crud.ts";
import type { Endpoint, EndpointDeps } from "../endpoint.ts";
import { assertUnused } from "../owned-documents.ts";
import type { Change, DocumentHooks } from "../owned-documents.ts";

export function tokenEndpoints(deps: EndpointDeps): Endpoint[] {
  const tokens = {
    deps,
    resource: tokenResource,
    hooks,
    path: "/tokens/",
    tag: "Tokens",
    noun: "Token",
    one: "a Token",
    readers: "For its owner only.",
    deletion: "For its owner only, while none of their API Calls uses it.",
  };
  return [
    ...writeEndpoints(tokens),
    getEndpoint(tokens),
    listEndpoint(tokens),
    filteredList(tokens, {
      operationId: "listTokensOfAuthSetting",
      path: "/tokens/auth/:auth_id/",
      summary: "List the Tokens of an Authentication Setting",
      of: ({ auth_id }) => ({ kind: "auth_setting", id: auth_id }),
      filters: ({ auth_id }) => ({ auth_id }),
    }),
  ];
}

const hooks: DocumentHooks<Token> = {
  async prepare(change, token, before) {
    const { store, principal } = change;
    const { auth_id } = token.meta;
    if (before?.meta.auth_id === auth_id) return rewritten(change, token, before);
    const setting = await store.documents.getForUpdate("auth_setting", auth_id);
    if (!setting || !canRead(principal, setting))
      throw invalid(
        `meta.auth_id: ${show(auth_id)} is not an Authentication Setting that you may read`,
      );
    // Calls that use the token refer to its present setting too.
    if (before) await assertUnused(change, "Token", "token_id", token.id, ["call"]);
    // A failed renewal says nothing about the endpoint of another setting.
    return withoutFailure(ofSetting(token, setting.document as AuthSetting));
  },

  removed: (change, id) => assertUnused(change, "Token", "token_id", id, ["call"]),
};

/**
 * Keeps what renewals set, and binds the token to its setting's current destination, if its owner
 * may still read the setting.
 */
async function rewritten(
  { store, principal }: Change,
  token: Token,
  before: Token,
): Promise<Token> {
  const setting = await store.documents.get("auth_setting", token.meta.auth_id);
  if (!setting || !canRead(principal, setting)) return withRenewal(before, token, false);
  const isRenewed = isRenewable(setting.document as AuthSetting, token);
  const document = withRenewal(before, token, isRenewed);
  return released({ ...ownedBy(principal), document }, setting);
}
