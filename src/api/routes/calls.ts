// API Calls. `GET calls/<id>/` answers with statistics instead when the query has `kind`.
import { callResource } from "../../model/call.ts";
import { createCrud } from "../crud.ts";
import type { Crud } from "../crud.ts";
import { readEndpoints, writeEndpoints } from "../crud-endpoints.ts";
import { defineEndpoint } from "../http/endpoint.ts";
import type { Endpoint, EndpointDeps } from "../http/endpoint.ts";
import { listOf } from "../lists.ts";
import { named } from "../openapi/openapi.ts";
import { LIST_PAGING, text } from "../http/parameters.ts";
import { assertCredentials, forgetCall } from "../references.ts";
import { callOrStat } from "./stats.ts";

const names = {
  path: "/calls/",
  tag: "API Calls",
  noun: "Call",
  nouns: "Calls",
  one: "an API Call",
  many: "API Calls",
} as const;

export function callEndpoints(deps: EndpointDeps): Endpoint[] {
  const crud = createCrud(deps, callResource, {
    async prepare(change, call, before) {
      await assertCredentials(change, call, before);
      return call;
    },
    removed: forgetCall,
  });
  return [
    ...writeEndpoints(callResource, crud, names),
    callOrStat(deps, readEndpoints(callResource, crud, names).get),
    ...lists(crud),
  ];
}

const CALL_LIST = listOf(named(names.noun, callResource.schema));

const lists = (crud: Crud): Endpoint[] => [
  defineEndpoint({
    operationId: "listCalls",
    methods: ["GET"],
    path: "/calls/",
    tag: names.tag,
    summary: "List the API Calls that you may read",
    level: "VIEWER",
    query: {
      ...LIST_PAGING,
      domain: text("only calls to this host"),
    },
    answer: CALL_LIST,
    handle: (request) => {
      const { domain } = request.query;
      return crud.list(request, domain === undefined ? {} : { domain: domain.toLowerCase() });
    },
  }),
  defineEndpoint({
    operationId: "listCallsOfAuthSetting",
    methods: ["GET"],
    path: "/calls/auth/:auth_id/",
    tag: names.tag,
    summary: "List the API Calls that use an Authentication Setting",
    level: "VIEWER",
    query: LIST_PAGING,
    answer: CALL_LIST,
    handle: (request) => crud.list(request, { auth_id: request.params.auth_id }),
  }),
];
