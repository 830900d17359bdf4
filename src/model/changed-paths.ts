// Names the fields of a document that an update changed, for the audit trail.
import type { TSchema } from "typebox";
import { isObject } from "./json.ts";
import { isSecret, nodesAt, withBranches } from "./secrets.ts";
import type { Node } from "./secrets.ts";
import { RENEWAL_ERROR } from "./token-renewal.ts";

/** Every update sets one of them. */
const ALWAYS_CHANGED = ["meta.last_update", "meta.updated"];

// They limit an entry whose names a user has chosen; no schema reaches them.
const MAX_PATHS = 100;
const LONGEST_NAME = 100;

/**
 * Returns the paths that differ, in alphabetical order, never their values. Compares objects field
 * by field; arrays and what the schema does not describe, as a whole. Names nothing inside a secret
 * but what Sonde itself sets there.
 */
export function changedPaths(schema: TSchema, before: unknown, after: unknown): string[] {
  const paths = [...new Set(differences([schema], before, after, ""))]
    .filter((path) => !ALWAYS_CHANGED.includes(path))
    .toSorted();
  const others = paths.length - MAX_PATHS;
  return others > 0 ? [...paths.slice(0, MAX_PATHS), `and ${others} more`] : paths;
}

function differences(
  nodes: readonly Node[],
  before: unknown,
  after: unknown,
  path: string,
): string[] {
  const all = nodes.flatMap(withBranches);
  if (!isObject(before) || !isObject(after) || all.length === 0)
    return JSON.stringify(before) === JSON.stringify(after) ? [] : [path];
  const isSealed = all.some(isSecret);
  const pathOf = (name: string): string => (path === "" ? "" : `${path}.`) + shortened(name);
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) =>
    differences(
      isSealed ? [] : all.flatMap((node) => nodesAt(node, name, false)),
      Object.hasOwn(before, name) ? before[name] : undefined,
      Object.hasOwn(after, name) ? after[name] : undefined,
      isSealed && name !== RENEWAL_ERROR ? path : pathOf(name),
    ),
  );
}

const shortened = (name: string): string =>
  name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME).toWellFormed()}…` : name;
