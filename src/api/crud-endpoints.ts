// The endpoints that every resource has, over its crud operations.
import { Type } from "typebox";
import type { TObject, TSchema } from "typebox";
import type { Resource } from "../model/resource.ts";
import type { Filters } from "../store/ports/document-store.ts";
import type { Crud } from "./crud.ts";
import { defineEndpoint } from "./http/endpoint.ts";
import type { Endpoint, PathParams } from "./http/endpoint.ts";
import { listOf } from "./lists.ts";
import { named } from "./openapi/openapi.ts";
import { LIST_PAGING } from "./http/parameters.ts";
import { answerSchema } from "./unreadable.ts";

export const StatusSchema = Type.Object({ status: Type.Enum(["OK"]) });

export interface CrudNames {
  /** Ends in a slash. */
  readonly path: string;
  readonly tag: string;
  /** Operation ids are made of them: "Call" and "Calls". */
  readonly noun: string;
  readonly nouns: string;
  /** As a sentence says it: "an API Call" and "API Calls". */
  readonly one: string;
  readonly many: string;
  /** What is answered, where that is not always the whole object. */
  readonly answer?: TSchema;
}

interface Answered {
  readonly schema: TSchema;
}

const answerOf = ({ schema }: Answered, { noun, answer = schema }: CrudNames): TSchema =>
  named(noun, answerSchema(answer));

/** Create, update and delete. */
export function writeEndpoints<S extends TObject>(
  resource: Resource<S>,
  crud: Crud,
  names: CrudNames,
): [create: Endpoint, update: Endpoint, remove: Endpoint] {
  const { path, tag, noun, one } = names;
  const answer = answerOf(resource, names);
  const common = { tag, level: "EDITOR", answer } as const;
  return [
    defineEndpoint({
      ...common,
      operationId: `create${noun}`,
      methods: ["POST", "PUT"],
      path,
      summary: `Create ${one}`,
      body: named(`New${noun}`, resource.createBody),
      status: 201,
      versioned: true,
      handle: (request) => crud.create(request),
    }),
    defineEndpoint({
      ...common,
      operationId: `update${noun}`,
      methods: ["PUT", "POST"],
      path: `${path as ""}:id/`,
      summary: `Change ${one}; what the body leaves out stays, arrays are replaced whole`,
      body: named(`${noun}Change`, resource.updateBody),
      versioned: true,
      conditional: true,
      handle: (request) => crud.update(request),
    }),
    defineEndpoint({
      ...common,
      operationId: `delete${noun}`,
      methods: ["DELETE"],
      path: `${path as ""}:id/`,
      summary: `Delete ${one}`,
      answer: StatusSchema,
      conditional: true,
      handle: (request) => crud.remove(request),
    }),
  ];
}

/** Get and list. */
export function readEndpoints<S extends TObject>(
  resource: Resource<S>,
  crud: Crud,
  names: CrudNames,
): { readonly get: Endpoint; readonly list: Endpoint } {
  const { path, tag, noun, nouns, one, many } = names;
  const schema = answerOf(resource, names);
  return {
    get: defineEndpoint({
      operationId: `get${noun}`,
      methods: ["GET"],
      path: `${path as ""}:id/`,
      tag,
      summary: `Get ${one}`,
      level: "VIEWER",
      answer: schema,
      versioned: true,
      handle: (request) => crud.get(request),
    }),
    list: defineEndpoint({
      operationId: `list${nouns}`,
      methods: ["GET"],
      path,
      tag,
      summary: `List the ${many} that you may read`,
      level: "VIEWER",
      query: LIST_PAGING,
      answer: listOf(schema),
      handle: (request) => crud.list(request, {}),
    }),
  };
}

/** A list by what its path says. */
export const listBy = <const Path extends string>(
  resource: Answered,
  crud: Crud,
  names: CrudNames,
  {
    filters,
    ...list
  }: {
    readonly operationId: string;
    readonly path: Path;
    readonly summary: string;
    readonly filters: (params: PathParams<Path>) => Filters;
  },
): Endpoint =>
  defineEndpoint({
    ...list,
    methods: ["GET"],
    tag: names.tag,
    level: "VIEWER",
    query: LIST_PAGING,
    answer: listOf(answerOf(resource, names)),
    handle: (request) => crud.list(request, filters(request.params)),
  });
