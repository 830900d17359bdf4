// Tokens. They are their owner's alone, whatever their setting shares.
import { canRead } from "../../model/access.ts";
import type { AuthSetting } from "../../model/auth-setting.ts";
import { invalid } from "../../model/errors.ts";
import { ofSetting, tokenResource } from "../../model/token.ts";
import type { Token } from "../../model/token.ts";
import { show } from "../../model/validate.ts";
import { createCrud } from "../crud.ts";
import type { DocumentHooks } from "../owned-documents.ts";
import { listBy, readEndpoints, writeEndpoints } from "../crud-endpoints.ts";
import type { Endpoint, EndpointDeps } from "../http/endpoint.ts";
import { assertUnused } from "../references.ts";

const names = {
  path: "/tokens/",
  tag: "Tokens",
  noun: "Token",
  nouns: "Tokens",
  one: "a Token",
  many: "Tokens",
} as const;

export function tokenEndpoints(deps: EndpointDeps): Endpoint[] {
  const crud = createCrud(deps, tokenResource, hooks);
  const { get, list } = readEndpoints(tokenResource, crud, names);
  return [
    ...writeEndpoints(tokenResource, crud, names),
    get,
    list,
    listBy(tokenResource, crud, names, {
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
    // Calls that name it would name a token of another setting than theirs.
    if (before) await assertUnused(store, "Token", "token_id", token.id, ["call"]);
    return ofSetting(token, setting.document as AuthSetting);
  },

  removed: (store, id) => assertUnused(store, "Token", "token_id", id, ["call"]),
};
