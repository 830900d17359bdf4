// Describes the object and the actor of an audit entry.
import type { AccessLevel } from "../../src/model/access.ts";
import type { AuditAction } from "../../src/model/audit.ts";

export interface AuditKey {
  readonly name: string | null;
  readonly access_level: AccessLevel;
  readonly revoked: boolean;
}

export interface AuditEntry {
  readonly id: string;
  readonly time: string;
  readonly actor: string | null;
  readonly actor_key: AuditKey | null;
  readonly owner: string | null;
  readonly address: string | null;
  readonly action: AuditAction;
  readonly kind: string;
  readonly object_id: string;
  readonly object_key: AuditKey | null;
  readonly object_owner: string | null;
  readonly fields: readonly string[];
}

/** By kind of object: its list in the API, and its page, if it has one. */
const PLACES: Readonly<Record<string, { readonly list: string; readonly page?: string }>> = {
  call: { list: "calls", page: "calls" },
  workflow: { list: "workflows", page: "workflows" },
  report: { list: "reports", page: "reports" },
  auth_setting: { list: "auth", page: "settings" },
  token: { list: "tokens" },
  deployment: { list: "deployments" },
};

export interface ObjectPlace {
  /** Below the API's root; the answer has the object's name, or is a deployment. */
  readonly path: string;
  /** Relative to the document's base; undefined if the object has no page. */
  readonly page: string | undefined;
}

/**
 * Returns undefined if the object has no name, is in `deleted`, or has another owner, unless it was
 * run: both see a call or workflow that they may run.
 */
export function placeOf(
  { action, kind, object_id, object_owner }: AuditEntry,
  deleted: ReadonlySet<string>,
): ObjectPlace | undefined {
  const place = PLACES[kind];
  const isHidden = object_owner !== null && action !== "run";
  if (!place || isHidden || deleted.has(object_id)) return undefined;
  const id = encodeURIComponent(object_id);
  return { path: `${place.list}/${id}/`, page: place.page && `${place.page}/${id}` };
}

export const deletedIn = (entries: readonly AuditEntry[]): ReadonlySet<string> =>
  new Set(entries.flatMap(({ action, object_id }) => (action === "delete" ? [object_id] : [])));

/** Describes a key: "Build server, revoked EDITOR key". */
export function keyWords({ name, access_level, revoked }: AuditKey): string {
  const key = `${revoked ? "revoked " : ""}${access_level} key`;
  return name === null ? key.replace(/^r/, "R") : `${name}, ${key}`;
}
