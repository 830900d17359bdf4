// Completes the OpenAPI document: an example for every parameter, body and answer, and whether a
// body is required.
import type { SwaggerTransformObject } from "@fastify/swagger";
import { routesOf } from "../endpoint.ts";
import type { DescribedHeader, Endpoint } from "../endpoint.ts";
import { API_PREFIX } from "../serve-endpoint.ts";
import { EXAMPLE_ETAG, bodyExample, exampleOf } from "./examples.ts";
import { errorsOf, templateOf } from "./words.ts";

type Given = Parameters<SwaggerTransformObject>[0];
type Document = Extract<Given, { openapiObject: unknown }>["openapiObject"];

/** The parts of an operation to complete. */
interface Operation {
  parameters?: {
    readonly name: string;
    readonly schema: object;
    example?: unknown;
  }[];
  requestBody?: { required?: boolean; content: Content };
  responses: Record<string, { content?: Content; headers?: object }>;
}

type Content = Record<string, { example?: unknown }>;

const RETRY_AFTER = {
  description: "seconds to wait before repeating the request",
  schema: { type: "integer" },
  example: 5,
};

/** The headers of errors, by status. */
const ERROR_HEADERS: Readonly<Record<number, object>> = {
  401: {
    "WWW-Authenticate": toHeader({ description: "how to send a key", example: "Bearer" }),
  },
  429: { "Retry-After": RETRY_AFTER },
  503: { "Retry-After": RETRY_AFTER },
};

function toHeader(header: DescribedHeader) {
  return { ...header, schema: { type: "string" } };
}

export function finishDocument(document: Document, endpoints: readonly Endpoint[]): Document {
  const paths = document.paths as Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  for (const endpoint of endpoints)
    for (const { method, path } of routesOf(endpoint)) {
      const operation = paths[`${API_PREFIX}${templateOf(path)}`]?.[method.toLowerCase()];
      if (operation) finish(operation, endpoint);
    }
  return document;
}

function finish(operation: Operation, endpoint: Endpoint): void {
  const { operationId, body, answer, media } = endpoint;
  for (const parameter of operation.parameters ?? [])
    parameter.example ??= exampleOf(parameter.schema);
  if (operation.requestBody && body) {
    operation.requestBody.required = isNeeded(body);
    illustrate(operation.requestBody.content, bodyExample(operationId, body));
  }
  const errors = errorsOf(endpoint);
  for (const [code, response] of Object.entries(operation.responses)) {
    const status = Number(code);
    const isDone = status < 300;
    if (response.content)
      illustrate(
        response.content,
        isDone ? exampleOf(answer) : { error_msg: errors[status]?.example, error: status },
      );
    for (const [type, { example }] of isDone ? Object.entries(media ?? {}) : [])
      (response.content?.[type] ?? {}).example = example(exampleOf(answer));
    const headers = status < 400 ? headersOf(endpoint) : ERROR_HEADERS[status];
    if (headers) response.headers = headers;
  }
}

function headersOf({ answer, versioned, headers }: Endpoint): object | undefined {
  const isAbsent = versioned === true && "anyOf" in answer;
  const etag = {
    description: "version of the object in the answer; for If-Match and If-None-Match",
    example: EXAMPLE_ETAG,
  };
  const described = Object.entries({ ...(versioned && { ETag: etag }), ...headers });
  if (described.length === 0) return undefined;
  return Object.fromEntries(
    described.map(([name, { description, example }]) => [
      name,
      toHeader({
        description: `${description}${isAbsent ? "; absent from an answer without an id" : ""}`,
        example,
      }),
    ]),
  );
}

/** Whether the body is required: an absent one is read as `{}`. */
function isNeeded(body: object): boolean {
  const { required = [], anyOf = [] } = body as {
    readonly required?: readonly string[];
    readonly anyOf?: readonly object[];
  };
  return anyOf.length > 0 ? anyOf.every(isNeeded) : required.length > 0;
}

function illustrate(content: Content, example: unknown): void {
  for (const media of Object.values(content)) media.example = example;
}
