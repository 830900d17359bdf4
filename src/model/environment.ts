// Environment variables: named values in workspaces. A workspace belongs to an organization, or to
// an owner without one.
import type { Static } from "typebox";
import type { Actor } from "./access.ts";
import { Id, LIMITS, Timestamp, secret } from "./fields.ts";
import { Type } from "./type.ts";

/** Browsers and other clients take `.` and `..` in a path for steps to another resource. */
export const WorkspaceName = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: "^(?!\\.{1,2}$)",
  examples: ["global"],
  fault: (shown: string) => `${shown} cannot name a workspace: in a URL, it leads elsewhere`,
});
const NAME = "^[a-zA-Z_][a-zA-Z_0-9]*$";
export const isVariableName = (text: string): boolean => new RegExp(NAME).test(text);
export const VariableName = Type.String({
  pattern: NAME,
  maxLength: LIMITS.name,
  examples: ["user"],
});
export const VariableValue = secret(
  Type.String({ maxLength: LIMITS.secret, examples: ["ann@example.com"] }),
);

export const VariableSchema = Type.Object({
  meta: Type.Object({
    updated: Timestamp,
    created: Timestamp,
    workspace: WorkspaceName,
  }),
  workspace_variable: Type.Object({
    name: VariableName,
    value: VariableValue,
  }),
  id: Id,
});

export type Variable = Static<typeof VariableSchema>;

/** Returns the name in a workspace's key. */
export const workspaceOf = (key: string): string =>
  (JSON.parse(key) as { readonly workspace: string }).workspace;

/** Identifies the workspace of this name that belongs to the caller. */
export const workspaceKey = ({ owner, org }: Actor, workspace: string): string =>
  JSON.stringify(org === null ? { owner, workspace } : { org, workspace });
