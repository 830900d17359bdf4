// The examples of the OpenAPI document: bodies are written by hand, as a client would send them;
// everything else is sampled from its schemas.
import { sample } from "openapi-sampler";
import type { TSchema } from "typebox";
import { EXAMPLE } from "../../model/fields.ts";

export const EXAMPLE_ETAG = '"qL3x0b1vJmA"';

/** By operation; a sample would fill these bodies with every property. */
const BODIES: Readonly<Record<string, object>> = {
  createCall: {
    meta: { name: "Sign in", tags: ["timeout:10"] },
    request: {
      method: "POST",
      url: EXAMPLE.url,
      headers: [{ key: "Content-Type", value: "application/json" }],
      body: '{"user": "{{user}}"}',
    },
  },
  updateCall: { request: { parameters: [{ key: "page", value: "1" }] } },
  createWorkflow: { meta: { name: "Buy a book" }, workflow: { call_ids: [EXAMPLE.id] } },
  updateWorkflow: { workflow: { handle_cookies: true } },
  changeOrRunWorkflow: { location_id: "", context: { WORKSPACE: "staging" } },
  createDeployment: { deployment: { target_id: EXAMPLE.id, location_id: "", frequency: 5 } },
  updateDeployment: { deployment: { frequency: 60 } },
  createAuthSetting: {
    meta: { name: "The shop", domain: EXAMPLE.domain },
    settings: { auth_type: "BASIC" },
    keys: { client_id: "shop", client_secret: "correct horse" },
  },
  updateAuthSetting: {
    meta: { domain: EXAMPLE.domain },
    keys: { client_secret: "battery staple" },
  },
  createToken: {
    meta: { name: "The robot's", auth_id: EXAMPLE.id },
    token: { access_token: "a secret", expires_in: 3600 },
  },
  updateToken: { token: { access_token: "another secret" } },
  createReport: {
    meta: { name: "Checkout" },
    groups: [{ name: "Europe", rows: [{ call_id: EXAMPLE.id, location_id: "" }] }],
  },
  updateReport: { access: { public: true } },
};

/** Returns a value that fits the schema. */
export const exampleOf = (schema: TSchema): unknown => sample(schema, { quiet: true });

export const bodyExample = (operationId: string, body: TSchema): unknown =>
  BODIES[operationId] ?? sample(body, { quiet: true, skipReadOnly: true });
