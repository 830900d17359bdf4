// The examples of the OpenAPI document, sampled from its schemas.
import { sample } from "openapi-sampler";
import type { TSchema } from "typebox";
import { EXAMPLE } from "../../model/fields.ts";

export const EXAMPLE_ETAG = '"qL3x0b1vJmA"';

/**
 * Bodies of updates, which need few of their properties: a sample would set them all.
 */
const UPDATES: Readonly<Record<string, object>> = {
  updateCall: { request: { parameters: [{ key: "page", value: "1" }] } },
  updateWorkflow: { workflow: { handle_cookies: true } },
  updateDeployment: { deployment: { frequency: 60 } },
  updateAuthSetting: {
    meta: { domain: EXAMPLE.domain },
    keys: { client_secret: "battery staple" },
  },
  updateToken: { token: { access_token: "another secret" } },
  updateReport: { access: { public: true } },
};

const ERRORS: Readonly<Record<number, string>> = {
  400: "'meta.name' is a required property (and 2 other faults)",
  401: "Unauthorized",
  403: "This needs a key of access level EDITOR; yours is VIEWER",
  404: "API Call not found",
  412: "The object has changed since you read it (If-Match names another version)",
  413: "The body is larger than 1048576 bytes (1 MiB)",
  415: "Content-Type 'text/plain' is not supported; send application/json",
  429: "Too many requests with a wrong API key",
  500: "Internal error",
  503: "the database is unavailable; try again in 5 s",
};

/** A value that fits the schema. */
export const exampleOf = (schema: TSchema): unknown => sample(schema, { quiet: true });

export const bodyExample = (operationId: string, body: TSchema): unknown =>
  UPDATES[operationId] ?? exampleOf(body);

export const errorExample = (status: number): object => ({
  error_msg: ERRORS[status] ?? "",
  error: status,
});
