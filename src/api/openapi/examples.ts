// The examples of the OpenAPI document: request bodies by hand, all else from its schema and the
// names of its fields.
import type { TSchema } from "typebox";

/** Bodies, by the operation that takes them. */
export const BODY_EXAMPLES: Readonly<Record<string, object>> = {
  createCall: {
    meta: { name: "Sign in", tags: ["timeout:10"] },
    request: {
      method: "POST",
      url: "https://api.example.com/v1/sessions",
      headers: [{ key: "Content-Type", value: "application/json" }],
      body: '{"user": "{{user}}"}',
    },
  },
  updateCall: { request: { parameters: [{ key: "page", value: "1" }] } },
  runCall: { location_id: "", context: { WORKSPACE: "staging" } },
  createWorkflow: {
    meta: { name: "Buy a book" },
    workflow: { call_ids: ["01k6fr5m00a2b3c4d5e6f7g8h9"] },
  },
  updateWorkflow: { workflow: { handle_cookies: true } },
  runWorkflow: { location_id: "", between_calls_delay: 2 },
  changeOrRunWorkflow: { location_id: "", context: {} },
  createDeployment: {
    deployment: {
      target_id: "01k6fr5m00a2b3c4d5e6f7g8h9",
      location_id: "",
      frequency: 5,
    },
  },
  updateDeployment: { deployment: { frequency: 60 } },
  createAuthSetting: {
    meta: { name: "The shop", domain: "api.example.com" },
    settings: { auth_type: "BASIC" },
    keys: { client_id: "shop", client_secret: "correct horse" },
  },
  updateAuthSetting: {
    meta: { domain: "api.example.com" },
    keys: { client_secret: "battery staple" },
  },
  createToken: {
    meta: { name: "Of the robot", auth_id: "01k6fr5m00a2b3c4d5e6f7g8h9" },
    token: { access_token: "a secret", expires_in: 3600 },
  },
  updateToken: { token: { access_token: "another secret" } },
  createReport: {
    meta: { name: "Checkout" },
    groups: [
      {
        name: "Europe",
        rows: [{ call_id: "01k6fr5m00a2b3c4d5e6f7g8h9", location_id: "" }],
      },
    ],
  },
  updateReport: { access: { public: true } },
  setVariable: { value: "ann@example.com" },
  createApiKey: { access_level: "EDITOR" },
};

/** What an error answers, by its status. */
export const ERROR_EXAMPLES: Readonly<Record<number, string>> = {
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

const TIME = "2026-10-01T12:00:00.000000Z";
const ID = "01k6fr5m00a2b3c4d5e6f7g8h9";

/** Of fields of one name everywhere. */
const BY_NAME: Readonly<Record<string, unknown>> = {
  name: "Sign in",
  label: "The office",
  description: "What users do first",
  region: "Europe",
  location_id: "local",
  id: ID,
  agent_id: "probe-1",
  owner: "ann",
  domain: "api.example.com",
  url: "https://api.example.com/v1/sessions",
  api_url: "https://api.example.com/v1/sessions",
  api_name: "Sign in",
  method: "POST",
  time: TIME,
  created: TIME,
  last_update: TIME,
  updated: TIME,
  last_seen: TIME,
  most_recent: TIME,
  workspace: "global",
  variable_name: "user",
  key: "Accept",
  value: "application/json",
  version: "0.1.0",
  api_key: "Zk3vQ9sW1xR7tB5nL0pD2hF8jM4cG6aY",
  content_type: "application/json",
  encoding: "utf-8",
  content: '{"ok": true}',
  message: "",
  status_code: 200,
  status_string: "OK",
  http_code: 200,
  count: 12,
  start: "2026-08-03",
  cursor: "",
  next_cursor: "",
  wait: 30,
  "If-Match": '"qL3x0b1vJmA"',
  "Idempotency-Key": "b6f0d0a4-6d0c-4f5e-9a51-0f6f0d6c1a52",
};

interface Node {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly items?: TSchema | readonly TSchema[];
  readonly anyOf?: readonly TSchema[];
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly pattern?: string;
}

/** A value that fits the schema, as a field of this name might have it. */
export function exampleOf(schema: TSchema, name = ""): unknown {
  const node: Node = schema;
  if (node.properties)
    return Object.fromEntries(
      Object.entries(node.properties).map(([field, inner]) => [field, exampleOf(inner, field)]),
    );
  if (node.default !== undefined) return node.default;
  if (node.enum) return node.enum[0];
  if (node.anyOf?.[0]) return exampleOf(node.anyOf[0], name);
  if (node.items) return itemsOf(node.items, name);
  const known = BY_NAME[name];
  switch (node.type) {
    case "string":
      return typeof known === "string" && fits(node, known) ? known : stringOf(name);
    case "integer":
    case "number":
      return typeof known === "number" ? known : (node.minimum ?? 0);
    case "boolean":
      return false;
    case "null":
      return null;
    default:
      return {};
  }
}

const itemsOf = (items: TSchema | readonly TSchema[], name: string): unknown[] =>
  Array.isArray(items)
    ? items.map((item: TSchema) => exampleOf(item, name))
    : [exampleOf(items, name)];

const fits = ({ pattern = "" }: Node, text: string): boolean => new RegExp(pattern).test(text);

function stringOf(name: string): string {
  if (/(?:^|_)(?:id|ids)$|^filenames$/.test(name)) return ID;
  return /_time$|_date$|^time$|^valid_|^expiry$/.test(name) ? TIME : "text";
}
