// The resources that the API creates, lists, changes and deletes in the same way, as data: which
// fields are shown, how lists are filtered, and which options make up a body.
import { pathOf } from "./api.ts";
import { column, countColumn } from "./columns.ts";
import { fieldOf, textOf } from "./fields.ts";
import {
  BY_TAG,
  ID,
  MORE_META,
  NAME,
  NAME_FIELD,
  numberIfOne,
  pairBy,
  TAGS,
  truth,
} from "./resource-kind.ts";
import type { KindName, ResourceKind } from "./resource-kind.ts";

const CALLS: ResourceKind = {
  name: "calls",
  path: "/calls/",
  one: "call",
  description: "HTTP requests to make.",
  isNamed: true,
  columns: [
    ID,
    NAME,
    column("METHOD", "request.method"),
    column("URL", "request.url", { shrinks: true }),
    TAGS,
  ],
  filters: [
    BY_TAG,
    { flags: "--domain <host>", description: "only calls to this host", query: "domain" },
    {
      flags: "--auth <setting>",
      description: "only calls that use this setting",
      names: "auth",
      path: (id) => pathOf`/calls/auth/${id}/`,
    },
  ],
  fields: [
    NAME_FIELD,
    {
      flags: "--method <method>",
      description: "such as POST",
      path: "request.method",
      otherwise: "GET",
    },
    { flags: "--url <url>", description: "URL to call", path: "request.url" },
    {
      flags: "--header <name: value>",
      description: "a header; may be repeated",
      path: "request.headers",
      repeats: true,
      read: pairBy("--header", ":"),
    },
    {
      flags: "--parameter <name=value>",
      description: "a query parameter; may be repeated",
      path: "request.parameters",
      repeats: true,
      read: pairBy("--parameter", "="),
    },
    { flags: "--body <text>", description: "body to send", path: "request.body" },
    {
      flags: "--auth <setting>",
      description: "id or name of an authentication setting; empty: none",
      path: "request.auth_id",
      names: ["auth"],
      clears: true,
    },
    {
      flags: "--token <token>",
      description: "id or name of one of its tokens; empty: none",
      path: "request.token_id",
      names: ["tokens"],
      clears: true,
    },
    ...MORE_META,
  ],
  example: "--name Shop --url https://shop.example/health",
};

const WORKFLOWS: ResourceKind = {
  name: "workflows",
  path: "/workflows/",
  one: "workflow",
  description: "Calls that run one after another.",
  isNamed: true,
  columns: [ID, NAME, countColumn("CALLS", "workflow.call_ids"), TAGS],
  filters: [
    BY_TAG,
    {
      flags: "--call <call>",
      description: "only workflows that run this call",
      names: "calls",
      path: (id) => pathOf`/workflows/call/${id}/`,
    },
  ],
  fields: [
    NAME_FIELD,
    {
      flags: "--call <call>",
      description: "id or name of a call; may be repeated",
      path: "workflow.call_ids",
      repeats: true,
      names: ["calls"],
    },
    {
      flags: "--stop-on-failure <true|false>",
      description: "end when a call fails",
      path: "workflow.stop_on_failure",
      read: truth("--stop-on-failure"),
    },
    {
      flags: "--handle-cookies <true|false>",
      description: "carry cookies from call to call",
      path: "workflow.handle_cookies",
      read: truth("--handle-cookies"),
    },
    ...MORE_META,
  ],
  example: "--name 'Buy a book' --call 'Log in' --call Shop",
};

const DEPLOYMENTS: ResourceKind = {
  name: "deployments",
  path: "/deployments/",
  one: "deployment",
  description: "How often, and from where, calls and workflows run.",
  isNamed: false,
  columns: [
    ID,
    column("RUNS", "target", { shrinks: true }),
    column("LOCATION", "deployment.location_id"),
    {
      heading: "EVERY",
      align: "right",
      cell: (row) => `${textOf(row, "deployment.frequency")} min`,
    },
    { heading: "DELAY", align: "right", cell: (row) => `${textOf(row, "deployment.run_delay")} s` },
  ],
  filters: [
    {
      flags: "--call <call>",
      description: "only those of this call",
      names: "calls",
      path: (id) => pathOf`/deployments/call/${id}/`,
    },
    {
      flags: "--workflow <workflow>",
      description: "only those of this workflow",
      names: "workflows",
      path: (id) => pathOf`/deployments/workflow/${id}/`,
    },
    {
      flags: "--location <id>",
      description: "only those at this location",
      keeps: (object, id) => fieldOf(object, "deployment.location_id") === id,
    },
  ],
  fields: [
    {
      flags: "--target <call|workflow>",
      description: "id or name of the call or workflow to run",
      path: "deployment.target_id",
      names: ["calls", "workflows"],
    },
    { flags: "--location <id>", description: "where it runs", path: "deployment.location_id" },
    {
      flags: "--frequency <minutes>",
      description: "minutes from one run to the next",
      path: "deployment.frequency",
      read: numberIfOne,
    },
    {
      flags: "--run-delay <seconds>",
      description: "seconds from the trigger time to the call",
      path: "deployment.run_delay",
      read: numberIfOne,
    },
  ],
  example: "--target Shop --location local --frequency 5",
};

const AUTH: ResourceKind = {
  name: "auth",
  path: "/auth/",
  one: "authentication setting",
  description: "Authentication settings for calls.",
  isNamed: true,
  columns: [ID, NAME, column("TYPE", "settings.auth_type"), column("DOMAIN", "meta.domain"), TAGS],
  filters: [BY_TAG],
  fields: [NAME_FIELD, ...MORE_META],
  always: "meta.domain",
  example: "--file auth.json",
};

const TOKENS: ResourceKind = {
  name: "tokens",
  path: "/tokens/",
  one: "token",
  description: "Tokens of authentication settings.",
  isNamed: true,
  columns: [ID, NAME, column("AUTH", "meta.auth_id"), column("EXPIRES", "token.expire_time")],
  filters: [
    {
      flags: "--auth <setting>",
      description: "only tokens of this setting",
      names: "auth",
      path: (id) => pathOf`/tokens/auth/${id}/`,
    },
  ],
  fields: [NAME_FIELD],
  example: "--file token.json",
};

const REPORTS: ResourceKind = {
  name: "reports",
  path: "/reports/",
  one: "report",
  description: "Groups of calls and locations to compare.",
  isNamed: true,
  columns: [ID, NAME, countColumn("GROUPS", "groups"), TAGS],
  filters: [BY_TAG],
  fields: [NAME_FIELD, ...MORE_META],
  example: "--name Checkout --file report.json",
};

export const KINDS = {
  calls: CALLS,
  workflows: WORKFLOWS,
  deployments: DEPLOYMENTS,
  auth: AUTH,
  tokens: TOKENS,
  reports: REPORTS,
} as const satisfies Readonly<Record<KindName, ResourceKind>>;
