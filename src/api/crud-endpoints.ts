// The endpoints that every resource has, over its crud operations.
import { Type } from "typebox";
import type { TObject, TSchema } from "typebox";
import type { Resource } from "../model/resource.ts";
import type { Crud } from "./crud.ts";
import { defineEndpoint } from "./endpoint.ts";
import type { Endpoint } from "./endpoint.ts";
import { listOf } from "./lists.ts";
import { named } from "./openapi.ts";
import { LIST_PAGING } from "./parameters.ts";

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
}

/** Create, update and delete. */
export function writeEndpoints<S extends TObject, D>(
  resource: Resource<S>,
  crud: Crud<D>,
  { path, tag, noun, one }: CrudNames,
): Endpoint[] {
  const answer = named(noun, resource.schema as TSchema);
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
export function readEndpoints<S extends TObject, D>(
  resource: Resource<S>,
  crud: Crud<D>,
  { path, tag, noun, nouns, one, many }: CrudNames,
): { readonly get: Endpoint; readonly list: Endpoint } {
  const schema = named(noun, resource.schema as TSchema);
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
