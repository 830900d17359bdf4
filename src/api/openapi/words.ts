// Descriptions of tags, path parameters and errors, which endpoints share in the OpenAPI document.
import { ACCESS_LEVELS } from "../../model/access.ts";
import { EXAMPLE } from "../../model/fields.ts";
import type { Endpoint } from "../endpoint.ts";

/** In the order of the document. */
export const TAGS: Readonly<Record<string, string>> = {
  "API Calls": "HTTP requests to make",
  Workflows: "API Calls that run one after another",
  Deployments: "How often, and from which location, an API Call or a Workflow runs",
  Results: "The outcome of each run",
  Statistics: "Aggregates of the results of an API Call, by period",
  Insights: "Weekly and monthly scores of API Calls",
  Reports: "Groups of API Calls at locations, to compare their statistics",
  "Authentication Settings": "How calls to a domain authenticate",
  Tokens: "Credentials for an Authentication Setting",
  "Environment variables": "Values that calls use, by workspace",
  Locations: "Where agents run calls",
  "API keys": "Keys for this interface",
  Audit: "Who changed what",
  Session: "Signing in to the web pages",
};

const id = (what: string) => ({ description: `id of ${what}`, example: EXAMPLE.id });

const PATH_PARAMETERS: Readonly<Record<string, { description: string; example: string }>> = {
  call_id: id("an API Call"),
  workflow_id: id("a Workflow"),
  auth_id: id("an Authentication Setting"),
  result_id: id("a result"),
  workflow_result_id: id("the result of a Workflow"),
  domain: { description: "host name", example: EXAMPLE.domain },
  workspace: { description: "name of the workspace", example: "global" },
  variable_name: {
    description: "letters, digits and `_`; must not begin with a digit",
    example: "user",
  },
};

export const pathParameter = (name: string) => PATH_PARAMETERS[name] ?? id("the object");

/** Returns the path as OpenAPI writes it: `/calls/{id}/`. */
export const templateOf = (path: string): string => path.replaceAll(/:(\w+)/g, "{$1}");

/** An endpoint's own sentences, and what its other properties imply. */
export function descriptionOf(endpoint: Endpoint, isVariant: boolean): string {
  const { description, level, methods, path } = endpoint;
  return [
    isVariant ? `The same as \`${methods[0]} ${templateOf(path)}\`.` : [],
    description ?? [],
    level === "VIEWER" ? "Any active key will do." : `Needs the access level ${atLeast(level)}.`,
  ]
    .flat()
    .join(" ");
}

const atLeast = (level: Endpoint["level"]): string =>
  ACCESS_LEVELS.slice(ACCESS_LEVELS.indexOf(level)).join(" or ");

interface ErrorWords {
  readonly description: string;
  /** A message that the service sends. */
  readonly example: string;
}

/** Returns the errors that an endpoint may answer with, by status. */
export function errorsOf(endpoint: Endpoint) {
  const { body, missing, conditional } = endpoint;
  const errors: Record<number, ErrorWords | undefined> = {
    400: body ? FAULTY_BODY : FAULTY_QUERY,
    401: { description: "No active key", example: "Unauthorized" },
    403: refusalOf(endpoint),
    404: missing === undefined ? undefined : notFound(missing),
    412: conditional ? CHANGED : undefined,
    413: body && TOO_LARGE,
    415: body && NOT_JSON,
    429: TOO_MANY,
    500: { description: "An error in the service", example: "Internal error" },
    503: UNAVAILABLE,
  };
  return errors;
}

const FAULTY_BODY = {
  description: "The body, a parameter or a header is invalid; the message says what and where",
  example: "'meta.name' is a required property (and 2 other faults)",
};
const FAULTY_QUERY = {
  description: "A parameter is invalid; the message says which, and what is allowed",
  example: "limit: '0' is not an integer from 1 to 1000",
};

function refusalOf({ level, methods, acceptsCode }: Endpoint): ErrorWords | undefined {
  if (level !== "VIEWER") return forbidden(level);
  // A session cannot open another, so signing in never looks at where a request comes from.
  return methods.includes("GET") || acceptsCode ? undefined : CROSS_SITE;
}
const CROSS_SITE = {
  description: "The request has a session's cookie, but does not come from Sonde's own pages",
  example:
    "A session can make changes only from Sonde's own pages; this request is from 'https://other.example'",
};
const forbidden = (level: Endpoint["level"]): ErrorWords => ({
  description: `The key's access level is below ${level}, the caller may not do this, or a budget of the owner is used up`,
  example: `This needs a key of access level ${level}; yours is VIEWER`,
});
const notFound = (missing: string): ErrorWords => ({
  description: "Not found, or not readable by the caller: the answer is the same",
  example: `${missing} not found`,
});
const CHANGED = {
  description: "If-Match names another version of the object",
  example: "The object has changed since you read it (If-Match names another version)",
};
const TOO_LARGE = {
  description: "The body is larger than 1 MiB",
  example: "The body is larger than 1048576 bytes (1 MiB)",
};
const NOT_JSON = {
  description: "The body is not application/json",
  example: "Content-Type 'text/plain' is not supported; send application/json",
};
const TOO_MANY = {
  description:
    "Too many requests with the key or with wrong keys, unfinished runs, exports or event streams",
  example: "Too many requests with a wrong API key; try again in 30 s",
};
const UNAVAILABLE = {
  description: "The database or the bus is unavailable",
  example: "the database is unavailable; try again in 5 s",
};
