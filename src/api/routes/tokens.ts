// Tokens. Only their owner sees them, whatever their setting shares.
import { canRead } from "../../model/access.ts";
import type { AuthSetting } from "../../model/auth-setting.ts";
import { invalid } from "../../model/errors.ts";
import { ofSetting, tokenResource } from "../../model/token.ts";
import type { Token } from "../../model/token.ts";
import { show } from "../../model/validate.ts";
import { filteredList, getEndpoint, listEndpoint, writeEndpoints } from "../crud.ts";
import type { Endpoint, EndpointDeps } from "../http/endpoint.ts";
import { assertUnused } from "../owned-documents.ts";
import type { DocumentHooks } from "../owned-documents.ts";

export function tokenEndpoints(deps: EndpointDeps): Endpoint[] {
  const tokens = {
    deps,
    resource: tokenResource,
    hooks,
    path: "/tokens/",
    tag: "Tokens",
    noun: "Token",
    nouns: "Tokens",
    one: "a Token",
    many: "Tokens",
  };
  return [
    ...writeEndpoints(tokens),
    getEndpoint(tokens),
    listEndpoint(tokens),
    filteredList(tokens, {
      operationId: "listTokensOfAuthSetting",
      path: "/tokens/auth/:auth_id/",
      summary: "List the Tokens of an Authentication Setting",
      filters: ({ auth_id }) => ({ auth_id }),
    }),
  ];
}

const hooks: DocumentHooks<Token> = {
  async prepare({ store, principal }, token, before) {
    const { auth_id } = token.meta;
    if (before?.meta.auth_id === auth_id) return token;
    const setting = await store.documents.getForUpdate("auth_setting", auth_id);
    if (!setting || !canRead(principal, setting))
      throw invalid(
        `meta.auth_id: ${show(auth_id)} is not an Authentication Setting that you may read`,
      );
    // Calls that use it name its present setting too.
    if (before) await assertUnused(store, "Token", "token_id", token.id, ["call"]);
    return ofSetting(token, setting.document as AuthSetting);
  },

  removed: (store, id) => assertUnused(store, "Token", "token_id", id, ["call"]),
};
