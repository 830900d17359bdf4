// The OpenAPI document: the description of an endpoint, and the parts that all endpoints share.
import type { FastifySchema } from "fastify";
import type { FastifyDynamicSwaggerOptions } from "@fastify/swagger";
import type { TSchema } from "typebox";
import type { Endpoint, Method } from "../endpoint.ts";
import { isRepeatable } from "../idempotency.ts";
import { finishDocument } from "./document.ts";
import { EXAMPLE_ETAG } from "./examples.ts";
import { descriptionOf, errorsOf, pathParameter, TAGS } from "./words.ts";

const ERROR_SCHEMA = {
  $id: "Error",
  type: "object",
  required: ["error_msg", "error"],
  properties: {
    error_msg: { type: "string", description: "what is wrong, and where" },
    error: { type: "integer", description: "the HTTP status" },
  },
};

/** The named schemas of these endpoints. */
export function sharedSchemas(endpoints: readonly Endpoint[]): unknown[] {
  const shared = new Map<string, unknown>([["Error", ERROR_SCHEMA]]);
  const collect = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    const { $id } = node as { readonly $id?: string };
    if ($id !== undefined && !shared.has($id)) shared.set($id, { ...(plain(node) as object), $id });
    Object.values(node).forEach(collect);
  };
  for (const { answer, body } of endpoints) collect([answer, body]);
  return [...shared.values()];
}

export interface Described {
  readonly version: string;
  readonly tokenInQuery: boolean;
  readonly publicUrl?: string | undefined;
}

export const openApiOptions = (
  { version, tokenInQuery, publicUrl }: Described,
  endpoints: readonly Endpoint[],
): FastifyDynamicSwaggerOptions => ({
  openapi: {
    openapi: "3.1.0",
    info: {
      title: "Sonde",
      version,
      license: { name: "MIT", identifier: "MIT" },
      description:
        "Runs HTTP calls from test locations and measures them. Every path works with and without its trailing slash. " +
        "`debug=1` in a query pretty-prints the answer. Query parameters that are not listed are ignored.",
    },
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    servers: [
      ...(publicUrl === undefined ? [] : [{ url: publicUrl, description: "the service" }]),
      { url: "/", description: "where this document came from" },
    ],
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer" },
        header: { type: "apiKey", in: "header", name: "X-Api-Key" },
        ...(tokenInQuery && {
          query: { type: "apiKey", in: "query", name: "_token" } as const,
        }),
      },
    },
    security: [{ bearer: [] }, { header: [] }, ...(tokenInQuery ? [{ query: [] }] : [])],
  },
  transformObject: (document) =>
    "openapiObject" in document
      ? finishDocument(document.openapiObject, endpoints)
      : document.swaggerObject,
  refResolver: {
    buildLocalReference: (json, _base, _fragment, n) =>
      typeof json.$id === "string" ? json.$id : `schema${n}`,
  },
});

const IF_MATCH = {
  "If-Match": {
    type: "string",
    description: "ETag of the version to change; other versions are refused",
    examples: [EXAMPLE_ETAG],
  },
};

const IF_NONE_MATCH = {
  "If-None-Match": {
    type: "string",
    description:
      "ETags of versions that the caller has: the answer is 304 if it would be one of these",
    examples: [EXAMPLE_ETAG],
  },
};

/** `type`: it has no body. */
const NOT_MODIFIED = { description: "The version is one that If-None-Match names", type: "null" };

const IDEMPOTENCY_KEY = {
  "Idempotency-Key": {
    type: "string",
    pattern: "^[!-~]{1,255}$",
    description:
      "a request repeated with the same key and body within 24 hours runs once, and gets the same answer",
    examples: ["b6f0d0a4-6d0c-4f5e-9a51-0f6f0d6c1a52"],
  },
};

/** The description of one method and path of an endpoint. */
export function describe(endpoint: Endpoint, method: Method, path: string): FastifySchema {
  const { operationId, methods, tag, summary, query, body } = endpoint;
  const isFirst = method === methods[0] && path === endpoint.path;
  const variant = path === endpoint.path ? `By${method}` : "ByAlias";
  return {
    operationId: isFirst ? operationId : `${operationId}${variant}`,
    tags: [tag],
    summary,
    description: descriptionOf(endpoint, !isFirst),
    ...(query && {
      querystring: {
        type: "object",
        properties: Object.fromEntries(
          Object.entries(query).map(([name, { schema }]) => [name, plain(schema)]),
        ),
      },
    }),
    ...pathParametersOf(path),
    ...headersOf(endpoint, method),
    ...(body && { body: referTo(body) }),
    response: answersOf(endpoint),
  };
}

function pathParametersOf(path: string): Pick<FastifySchema, "params"> {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => String(name));
  const schemaOf = (name: string) => {
    const { description, example } = pathParameter(name);
    return { type: "string", description, examples: [example] };
  };
  const properties = Object.fromEntries(names.map((name) => [name, schemaOf(name)]));
  return names.length > 0 ? { params: { type: "object", properties } } : {};
}

function headersOf(endpoint: Endpoint, method: Method): Pick<FastifySchema, "headers"> {
  const properties = {
    ...(hasNotModified(endpoint) && IF_NONE_MATCH),
    ...(endpoint.conditional && IF_MATCH),
    ...(isRepeatable(method) && IDEMPOTENCY_KEY),
  };
  return Object.keys(properties).length > 0 ? { headers: { type: "object", properties } } : {};
}

/** No method of such an endpoint changes anything. */
const hasNotModified = ({ versioned, methods }: Endpoint): boolean =>
  versioned === true && methods.includes("GET");

function answersOf(endpoint: Endpoint): Record<number, unknown> {
  const { status = 200, answer, media } = endpoint;
  const content = Object.entries(media ?? {}).map(([type, { schema }]) => [
    type,
    { schema: referTo(schema) },
  ]);
  const form = media ? { content: Object.fromEntries(content) } : (referTo(answer) as object);
  const done = { description: "Done", ...form };
  const errors = Object.entries(errorsOf(endpoint)).flatMap(([code, words]) =>
    words ? [[code, { description: words.description, $ref: "Error#" }] as const] : [],
  );
  return {
    ...Object.fromEntries([status].flat().map((code) => [code, done])),
    ...(hasNotModified(endpoint) && { 304: NOT_MODIFIED }),
    ...Object.fromEntries(errors),
  };
}

/** Drops our own keywords from a schema, and refers to the named schemas in it. */
const plain = (schema: unknown): unknown =>
  JSON.parse(
    JSON.stringify(schema, (name, value: unknown) =>
      isOurs(name, value) ? undefined : toStandard(refer(name, value)),
    ),
  );

/** Our own keywords. Their value is always true: a property may have the same name. */
const MARKS = new Set(["secret", "credentials", "requiredAlways", "namedByUser", "dateTime"]);

const isOurs = (name: string, value: unknown): boolean =>
  name.startsWith("~") || name === "$id" || (MARKS.has(name) && value === true);

/** Translates into JSON Schema 2020-12, which OpenAPI 3.1 uses. */
function toStandard(value: unknown): unknown {
  if (isTuple(value)) {
    const { items, additionalItems: _additional, ...rest } = value;
    // Tools that do not know `prefixItems` read `items`.
    return { ...rest, prefixItems: items, items: { anyOf: items }, maxItems: items.length };
  }
  const { dateTime } = (value ?? {}) as { readonly dateTime?: unknown };
  return dateTime === true ? { ...(value as object), format: "date-time" } : value;
}

const isTuple = (value: unknown): value is { items: unknown[]; additionalItems?: unknown } =>
  typeof value === "object" && value !== null && "items" in value && Array.isArray(value.items);

const referTo = (schema: TSchema): unknown =>
  (plain({ schema }) as { readonly schema: unknown }).schema;

const refer = (name: string, value: unknown): unknown => {
  const { $id } = (value ?? {}) as { readonly $id?: unknown };
  return name !== "" && typeof $id === "string" ? { $ref: `${$id}#` } : value;
};
