// API keys of the caller's owner. A key is shown once, when it is issued.
import { ACCESS_LEVELS } from "../../model/access.ts";
import { notFound } from "../../model/errors.ts";
import { Id, Name, Org, Owner, Timestamp, nullable, withDefault } from "../../model/fields.ts";
import { formatInstant } from "../../model/instant.ts";
import { Type } from "../../model/type.ts";
import { createValidator } from "../../model/validate.ts";
import { hashApiKey, newApiKey } from "../../runtime/api-key.ts";
import { newId } from "../../runtime/ids.ts";
import type { ApiKey } from "../../store/records.ts";
import type { Budgets } from "../budgets.ts";
import { StatusSchema } from "../crud.ts";
import { defineEndpoint, named } from "../endpoint.ts";
import type { ApiRequest, Endpoint, EndpointDeps } from "../endpoint.ts";
import { listOf, listPage } from "../http/paging.ts";
import { LIST_PAGING } from "../http/parameters.ts";

export const AccessLevelSchema = Type.Enum([...ACCESS_LEVELS]);

export const KeyName = nullable(Name, {
  description: "what the key is for",
  examples: ["Build server"],
});

const KeyBody = Type.Object(
  {
    access_level: Type.Optional(withDefault(AccessLevelSchema, "VIEWER")),
    name: Type.Optional(withDefault(KeyName, null)),
  },
  { additionalProperties: false },
);
const keyBody = createValidator(KeyBody);

const known = {
  id: Id,
  owner: Owner,
  org: Org,
  access_level: AccessLevelSchema,
  name: KeyName,
  created: Timestamp,
  last_update: Timestamp,
};
const KeySchema = named("ApiKey", Type.Object(known));
const NewKeySchema = named(
  "NewApiKey",
  Type.Object({
    ...known,
    api_key: Type.String({
      description: "shown only in this answer",
      examples: ["Zk3vQ9sW1xR7tB5nL0pD2hF8jM4cG6aY"],
    }),
  }),
);

// The level OWNER is the highest: nobody can issue a key above their own.
const common = { tag: "API keys", level: "OWNER" } as const;

export const apiKeyEndpoints = ({ store, cursors, budgets }: EndpointDeps): Endpoint[] => [
  defineEndpoint({
    ...common,
    operationId: "createApiKey",
    methods: ["POST", "PUT"],
    path: "/api_keys/",
    summary: "Issue a key for the same owner",
    description:
      "The answer is the only one that shows the key. No key can issue one above its own level.",
    body: KeyBody,
    status: 201,
    answer: NewKeySchema,
    handle: async (request) => issue(request, budgets, await store.now()),
  }),
  defineEndpoint({
    ...common,
    operationId: "listApiKeys",
    methods: ["GET"],
    path: "/api_keys/",
    summary: "List the active keys",
    description: "The owner's keys, without their values, in order of creation.",
    query: LIST_PAGING,
    answer: listOf(KeySchema),
    handle: (request) =>
      listPage(cursors, request, async (page) =>
        (await store.apiKeys.list(request.principal, page)).map(toAnswer),
      ),
  }),
  defineEndpoint({
    ...common,
    operationId: "revokeApiKey",
    methods: ["DELETE"],
    path: "/api_keys/:id/",
    summary: "Revoke a key immediately",
    description: "From the next request on, it is refused.",
    missing: "API key",
    answer: StatusSchema,
    handle: revoke,
  }),
];

async function issue(
  { principal, body, change }: ApiRequest,
  budgets: Budgets,
  now: number,
): Promise<unknown> {
  const { access_level = "VIEWER", name = null } = keyBody.parse(body);
  const { owner, org } = principal;
  const api_key = newApiKey();
  const key: ApiKey = {
    key_id: newId(now),
    owner,
    org,
    access_level,
    name,
    created: now,
    last_update: now,
    revoked: false,
  };
  return change(async (within, audit) => {
    await within.apiKeys.insert(key, hashApiKey(api_key));
    await budgets.checkIssued(within, principal);
    await audit("issue", "api_key", key.key_id);
    return { ...toAnswer(key), api_key };
  });
}

const revoke = ({ principal, params: { id }, change }: ApiRequest<"/:id/">): Promise<unknown> =>
  change(async (within, audit) => {
    if (!(await within.apiKeys.revoke(id, principal, await within.now())))
      throw notFound("API key");
    await audit("revoke", "api_key", id);
    return { status: "OK" };
  });

const toAnswer = (key: ApiKey) => ({
  id: key.key_id,
  owner: key.owner,
  org: key.org,
  access_level: key.access_level,
  name: key.name,
  created: formatInstant(key.created),
  last_update: formatInstant(key.last_update),
});
