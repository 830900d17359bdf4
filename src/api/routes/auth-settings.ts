// Authentication Settings. A token copies fields of its setting, and follows their changes.
import { isDeepStrictEqual } from "node:util";
import { ownedBy } from "../../model/access.ts";
import { authSettingResource, shownAuthSetting } from "../../model/auth-setting.ts";
import type { AuthSetting } from "../../model/auth-setting.ts";
import { toDomain } from "../../model/domain.ts";
import { afterChange } from "../../model/token-destination.ts";
import { tokenResource } from "../../model/token.ts";
import { filteredList, getEndpoint, listEndpoint, writeEndpoints } from "../crud.ts";
import type { Endpoint, EndpointDeps } from "../endpoint.ts";
import { assertUnused, follow } from "../owned-documents.ts";
import type { Change, DocumentHooks } from "../owned-documents.ts";

export function authSettingEndpoints(deps: EndpointDeps): Endpoint[] {
  const settings = {
    deps,
    resource: authSettingResource,
    hooks,
    path: "/auth/",
    tag: "Authentication Settings",
    noun: "AuthSetting",
    one: "an Authentication Setting",
    deletion: "For its owner only, while none of their API Calls and Tokens uses it.",
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
  async written(change, after, before) {
    if (before) await changeTokensOf(change, before, after);
  },

  removed: (change, id) =>
    assertUnused(change, "Authentication Setting", "auth_id", id, ["call", "token"]),

  shown: async (_store, reader, found) =>
    found.map((stored) => shownAuthSetting(stored.document, reader, stored)),
};

/** Makes the owner's tokens follow the setting; withholds those of others, which say why. */
async function changeTokensOf(
  { store, principal }: Change,
  before: AuthSetting,
  after: AuthSetting,
): Promise<void> {
  if (isDeepStrictEqual(destinationOf(before), destinationOf(after))) return;
  const { documents } = store;
  const owner = ownedBy(principal);
  const [old, changed] = [
    { ...owner, document: before },
    { ...owner, document: after },
  ];
  for await (const id of documents.ids("token", { auth_id: after.id })) {
    const token = await documents.getForUpdate("token", id);
    if (token) await follow(store, tokenResource, token, () => afterChange(token, old, changed));
  }
}

const destinationOf = ({ meta, settings }: AuthSetting) => [
  meta.domain,
  settings.auth_type,
  settings.access_token_url || null,
];
