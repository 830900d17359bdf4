// Authentication Settings. A token copies fields of its setting, and follows their changes.
import { authSettingResource, shownAuthSetting } from "../../model/auth-setting.ts";
import type { AuthSetting } from "../../model/auth-setting.ts";
import { toDomain } from "../../model/domain.ts";
import { ofSetting, tokenResource } from "../../model/token.ts";
import type { Store } from "../../store/store.ts";
import { filteredList, getEndpoint, listEndpoint, writeEndpoints } from "../crud.ts";
import type { Endpoint, EndpointDeps } from "../http/endpoint.ts";
import { assertUnused, follow } from "../owned-documents.ts";
import type { DocumentHooks } from "../owned-documents.ts";

export function authSettingEndpoints(deps: EndpointDeps): Endpoint[] {
  const settings = {
    deps,
    resource: authSettingResource,
    hooks,
    path: "/auth/",
    tag: "Authentication Settings",
    noun: "AuthSetting",
    nouns: "AuthSettings",
    one: "an Authentication Setting",
    many: "Authentication Settings",
  };
  return [
    ...writeEndpoints(settings),
    getEndpoint(settings),
    listEndpoint(settings),
    filteredList(settings, {
      operationId: "listAuthSettingsOfDomain",
      path: "/auth/domain/:domain/",
      summary: "List the Authentication Settings of a domain",
      filters: ({ domain }) => ({ domain: toDomain(domain) ?? domain }),
    }),
  ];
}

const hooks: DocumentHooks<AuthSetting> = {
  async written({ store }, after, before) {
    const same =
      before?.meta.domain === after.meta.domain &&
      before.settings.auth_type === after.settings.auth_type;
    if (before && !same) await changeTokensOf(store, after);
  },

  removed: (store, id) =>
    assertUnused(store, "Authentication Setting", "auth_id", id, ["call", "token"]),

  shown: async (_store, reader, found) =>
    found.map((stored) => shownAuthSetting(stored.document, reader, stored)),
};

async function changeTokensOf(store: Store, setting: AuthSetting): Promise<void> {
  const { documents } = store;
  for (const { id } of await documents.listAll("token", "auth_id", setting.id)) {
    const token = await documents.getForUpdate("token", id);
    if (token)
      await follow(store, tokenResource, token, (document) => ofSetting(document, setting));
  }
}
